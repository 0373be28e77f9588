package dev.drover.plan.cluster;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLFactory;
import com.fasterxml.jackson.dataformat.yaml.YAMLGenerator;
import dev.drover.plan.RecordText;
import java.util.List;
import java.util.Set;

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
        RecordText read = RecordText.parse(mapper(), yaml, "cluster", source);
        if (read.tree() instanceof ObjectNode keys && keys.path(MEASURED).isMissingNode()) {
            keys.set(MEASURED, mapper().valueToTree(Measured.NONE));
        }
        return read.to(Cluster.class, Set.of());
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
    private record Written(
            String name, List<DeviceType> deviceTypes, List<Hosts> hosts, Link intraHost, Link interHost) {
        Written(Cluster cluster) {
            this(cluster.name(), cluster.deviceTypes(), cluster.hosts(), cluster.intraHost(), cluster.interHost());
        }
    }
}
