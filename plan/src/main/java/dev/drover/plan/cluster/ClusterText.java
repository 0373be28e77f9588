package dev.drover.plan.cluster;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonMappingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import com.fasterxml.jackson.dataformat.yaml.YAMLGenerator;
import dev.drover.ir.UserError;
import dev.drover.plan.RecordKeys;
import java.util.List;
import java.util.stream.Collectors;

/** Clusters as YAML; unknown and missing keys are errors. */
public final class ClusterText {
    private static final String MEASURED = "measured";

    private ClusterText() {}

    private static ObjectMapper mapper() {
        return new ObjectMapper(new YAMLFactory()
                        .disable(YAMLGenerator.Feature.WRITE_DOC_START_MARKER)
                        .enable(YAMLGenerator.Feature.MINIMIZE_QUOTES))
                .enable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
                .enable(DeserializationFeature.FAIL_ON_MISSING_CREATOR_PROPERTIES)
                .enable(DeserializationFeature.FAIL_ON_NULL_CREATOR_PROPERTIES)
                .enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
                .enable(com.fasterxml.jackson.core.JsonParser.Feature.STRICT_DUPLICATE_DETECTION);
    }

    /** Reads a cluster; {@code source} names the file in messages. */
    public static Cluster parse(String yaml, String source) {
        try {
            // Before values are read, so that a misspelt key is not reported as a missing one.
            JsonNode tree = mapper().readTree(yaml);
            RecordKeys.check(tree, Cluster.class, "cluster (" + source + ")");
            Written cluster = mapper().readValue(yaml, Written.class);
            if (cluster == null) {
                throw new UserError("The cluster (" + source + ") must not be empty.");
            }
            JsonNode measured = tree.path(MEASURED);
            return cluster.toCluster(
                    measured.isMissingNode() ? Measured.NONE : mapper().treeToValue(measured, Measured.class));
        } catch (JsonMappingException e) {
            for (Throwable cause = e; cause != null; cause = cause.getCause()) {
                if (cause instanceof UserError error) {
                    throw error;
                }
            }
            String path = e.getPath().stream()
                    .map(at -> at.getFieldName() == null ? "[" + at.getIndex() + "]" : at.getFieldName())
                    .collect(Collectors.joining("."));
            throw new UserError("The value (" + path + ") of cluster (" + source + ", line "
                    + (e.getLocation() == null ? 0 : e.getLocation().getLineNr()) + ") must be readable: "
                    + e.getOriginalMessage());
        } catch (JsonProcessingException e) {
            throw new UserError("The cluster (" + source + ") must be YAML: " + e.getOriginalMessage());
        }
    }

    /** The YAML that {@link #parse} reads back. */
    public static String print(Cluster cluster) {
        try {
            ObjectNode tree = mapper().valueToTree(new Written(cluster));
            if (!cluster.measured().equals(Measured.NONE)) {
                tree.set(MEASURED, mapper().valueToTree(cluster.measured()));
            }
            return mapper().writeValueAsString(tree);
        } catch (JsonProcessingException e) {
            throw new IllegalStateException("The cluster (" + cluster.name() + ") must be printable.", e);
        }
    }

    /** What every cluster file has; nobody writes {@link #MEASURED} times by hand. */
    @JsonIgnoreProperties(MEASURED)
    private record Written(
            String name, List<DeviceType> deviceTypes, List<Hosts> hosts, Link intraHost, Link interHost) {
        Written(Cluster cluster) {
            this(cluster.name(), cluster.deviceTypes(), cluster.hosts(), cluster.intraHost(), cluster.interHost());
        }

        Cluster toCluster(Measured measured) {
            return new Cluster(name, deviceTypes, hosts, intraHost, interHost, measured);
        }
    }
}
