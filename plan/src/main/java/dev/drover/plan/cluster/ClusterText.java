package dev.drover.plan.cluster;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonMappingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import com.fasterxml.jackson.dataformat.yaml.YAMLGenerator;
import dev.drover.ir.UserError;
import dev.drover.plan.RecordKeys;
import java.util.List;
import java.util.stream.Collectors;

/** Clusters as YAML; unknown and missing keys are errors. */
public final class ClusterText {
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
            RecordKeys.check(mapper().readTree(yaml), Cluster.class, "cluster (" + source + ")");
            Cluster cluster = mapper().readValue(yaml, Cluster.class);
            if (cluster == null) {
                throw new UserError("The cluster (" + source + ") must not be empty.");
            }
            return cluster;
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
            return mapper().writeValueAsString(new Printed(cluster));
        } catch (JsonProcessingException e) {
            throw new IllegalStateException("The cluster (" + cluster.name() + ") must be printable.", e);
        }
    }

    /** The record's components only, in order (without its derived getters). */
    private record Printed(
            String name, List<DeviceType> deviceTypes, List<Hosts> hosts, Link intraHost, Link interHost) {
        Printed(Cluster cluster) {
            this(cluster.name(), cluster.deviceTypes(), cluster.hosts(), cluster.intraHost(), cluster.interHost());
        }
    }
}
