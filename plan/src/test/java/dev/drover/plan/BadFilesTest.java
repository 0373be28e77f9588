package dev.drover.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import dev.drover.ir.UserError;
import dev.drover.plan.cluster.Cluster;
import dev.drover.plan.cluster.ClusterText;
import dev.drover.plan.text.PlanText;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiFunction;
import org.junit.jupiter.api.Test;

/** Wrong cluster and plan files are told in one line, and one of advice at most, in the file's own words. */
class BadFilesTest {
    private static final String CLUSTER = small();

    private static final String PLAN = """
            {
              "version": 3,
              "model": {"source": "m.hlo", "fingerprint": "abc", "instructions": 1},
              "cluster": %s,
              "stages": 1,
              "mesh": {"axes": [{"name": "x", "size": 2}]},
              "microBatches": 1,
              "schedule": "1f1b",
              "gatherPerPhase": false,
              "stageRuns": [{"stage": 0, "phase": "PRE", "count": 1}],
              "strategies": {"dot.1": "b"},
              "predicted": null,
              "certificate": null,
              "candidates": []
            }
            """.formatted("""
                    {"name": "small",
                      "deviceTypes": [{"name": "tiny", "flopsPerSecondByDType": {"f32": 1e12}, "usableShare": 0.5,
                        "memoryBytes": 2000, "memoryBytesPerSecond": 1e11, "opOverheadNanos": 1000}],
                      "hosts": [{"deviceType": "tiny", "count": 1, "devicesPerHost": 2}],
                      "intraHost": {"bytesPerSecond": 1e10, "latencyNanos": 1000, "shared": true},
                      "interHost": {"bytesPerSecond": 1e9, "latencyNanos": 10000, "shared": true},
                      "measured": {"processors": 0, "nanosBySizeByKind": {}}}""");

    /** Two devices; tests of the command line have them too. */
    private static String small() {
        try {
            return Files.readString(Path.of("src/test/resources/clusters/small.yaml"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** What is replaced in a good file, by what, and what must be told. */
    private record Wrong(String good, String bad, String told) {}

    private static final List<Wrong> CLUSTERS = List.of(
            // keys
            new Wrong("interHost: .*", "", "The key (interHost) of cluster (f.x) must be given."),
            new Wrong(
                    "  memoryBytes: .*",
                    "",
                    "The key (deviceTypes[0].memoryBytes) of cluster (f.x, line 3) must be given."),
            new Wrong(
                    "memoryBytes:",
                    "memoryByte:",
                    "must be one of [name, flopsPerSecondByDType, usableShare, memoryBytes"),
            new Wrong("memoryBytes:", "memoryByte:", "\nMaybe write memoryBytes."),
            new Wrong(
                    "name: small",
                    "name: small\nzzz: 1",
                    "The key (zzz) of cluster (f.x, line 2) must be one of [name, "),
            new Wrong("name: small", "name: small\nname: other", "Duplicate field 'name'"),
            new Wrong("intraHost: .*", "intraHost:", "The key (intraHost) of cluster (f.x, line 11) must have a value"),
            // kinds of values
            new Wrong(
                    "2000",
                    "32 GiB",
                    "The deviceTypes[0].memoryBytes (32 GiB) of cluster (f.x, line 6) must be a whole number.\n"
                            + "Maybe write 34359738368."),
            new Wrong("2000", "2000.5", "memoryBytes (2000.5) of cluster (f.x, line 6) must be a whole number."),
            new Wrong("2000", "[1, 2]", "memoryBytes ([1,2]) of cluster (f.x, line 6) must be a whole number."),
            new Wrong("2000", "99999999999999999999", "must be a whole number between "),
            new Wrong(
                    "count: 1",
                    "count: 99999999999",
                    "hosts[0].count (99999999999) of cluster (f.x, line 10) must be a whole number between"),
            new Wrong(
                    "1.0e10",
                    "10 GB/s",
                    "intraHost.bytesPerSecond (10 GB/s) of cluster (f.x, line 11) must be a number.\n"
                            + "Maybe write 10000000000."),
            new Wrong("1.0e10", ".nan", "(f.x, line 11, column 33) must be YAML: "),
            new Wrong("1.0e10", "1e999", "bytesPerSecond"),
            new Wrong("1.0e10", "fast", "intraHost.bytesPerSecond (fast) of cluster (f.x, line 11) must be a number."),
            new Wrong(
                    "shared: true",
                    "shared: yes please",
                    "intraHost.shared (yes please) of cluster (f.x, line 11) must be true or false."),
            new Wrong("shared: true", "shared: 1", "must be true or false."),
            new Wrong("name: small", "name: [a]", "The name ([\"a\"]) of cluster (f.x, line 1) must be text."),
            new Wrong(
                    "\\{f32: 1.0e12}",
                    "3",
                    "flopsPerSecondByDType (3) of cluster (f.x, line 4) must be a map of keys."),
            new Wrong("- \\{deviceType: .*", "  5", "The hosts (5) of cluster (f.x, line 9) must be a list."),
            new Wrong("- \\{deviceType: .*", "- 5", "The hosts[0] (5) of cluster (f.x, line 10) must be a map of keys"),
            new Wrong(
                    "interHost: .*",
                    "interHost: 5",
                    "The interHost (5) of cluster (f.x, line 12) must be a map of keys"),
            // figures
            new Wrong(
                    "1.0e9,",
                    "0,",
                    "The bytesPerSecond (0.0) of a link at interHost of cluster (f.x, line 12) must be at least 1."),
            new Wrong(
                    "1.0e10,",
                    "-1,",
                    "The bytesPerSecond (-1.0) of a link at intraHost of cluster (f.x, line 11) must be at least 1."),
            new Wrong(
                    "10000",
                    "-5",
                    "The latencyNanos (-5) of a link at interHost of cluster (f.x, line 12) must be at least 0."),
            new Wrong(
                    "2000",
                    "0",
                    "The memoryBytes (0) of device type (tiny) at deviceTypes[0] of cluster (f.x, line 3) must be at least 1."),
            new Wrong("1.0e11", "0", "The memoryBytesPerSecond (0.0) of device type (tiny)"),
            new Wrong("1000", "-1", "The opOverheadNanos (-1) of device type (tiny)"),
            new Wrong("0.5", "1.5", "The usableShare (1.5) of device type (tiny)"),
            new Wrong("f32", "f31", "The flopsPerSecondByDType (f31) of device type (tiny)"),
            new Wrong("1.0e12", "0", "The flopsPerSecondByDType.f32 (0.0) of device type (tiny)"),
            new Wrong("count: 1", "count: 0", "The count (0) of hosts (tiny) of cluster (f.x) must be at least 1."),
            new Wrong(
                    "deviceType: tiny",
                    "deviceType: tinny",
                    "of cluster (f.x) must be one of [tiny].\nMaybe write tiny."),
            new Wrong(
                    "count: 1",
                    "count: 2000000000",
                    "The number (4000000000) of devices of cluster (f.x) must be at most 65536."),
            // no YAML
            new Wrong("name: small", "\tname: small", "(f.x, line 1, column 1) must be YAML: found character"),
            new Wrong("name: small", "name: \"small", "must be YAML: "),
            new Wrong("hosts:", "hosts: [", "must be YAML: "),
            new Wrong("name: small", "name: small\n---\nname: other", "must end after its first value."));

    private static final List<Wrong> PLANS = List.of(
            new Wrong("\"stages\": 1,", "", "The key (stages) of plan (f.x) must be given."),
            new Wrong(
                    "\"stages\": 1",
                    "\"stages\": \"one\"",
                    "The stages (one) of plan (f.x, line 11) must be a whole number."),
            new Wrong("\"stages\": 1", "\"stages\": null", "The key (stages) of plan (f.x, line 11) must have a value"),
            new Wrong("\"stages\"", "\"stagess\"", "Maybe write stages."),
            new Wrong(
                    "\"PRE\"",
                    "\"PRF\"",
                    "stageRuns[0].phase (PRF) of plan (f.x, line 16) must be one of [PRE, FORWARD, "),
            new Wrong(
                    "\"gatherPerPhase\": false",
                    "\"gatherPerPhase\": \"no\"",
                    "gatherPerPhase (no) of plan (f.x, line 15) must be true or false."),
            new Wrong(
                    "\"count\": 1, \"dev",
                    "\"count\": 0, \"dev",
                    "The count (0) of hosts (tiny) at cluster of plan (f.x, line 4) must be"),
            new Wrong(
                    "1e9,",
                    "0,",
                    "The bytesPerSecond (0.0) of a link at cluster.interHost of plan (f.x, line 9) must be at least 1."),
            new Wrong("\"stages\": 1", "\"stages\": 0", "The stages (0) of plan (f.x) must be at least 1."),
            new Wrong(
                    "\"stages\": 1",
                    "\"stages\": 2000000000",
                    "The stages (2000000000) times the devices of the mesh (2) of plan (f.x) must be the 2 devices"),
            new Wrong(
                    "\"size\": 2",
                    "\"size\": -2",
                    "The size (-2) of mesh axis (x) at mesh.axes[0] of plan (f.x, line 12) must be at least 1."),
            new Wrong("\"microBatches\": 1", "\"microBatches\": -1", "The microBatches (-1) of plan (f.x) must be"),
            new Wrong("1f1b", "2f2b", "The schedule (2f2b) of plan (f.x) must be one of 1f1b, "),
            new Wrong(
                    "\"stage\": 0",
                    "\"stage\": 1",
                    "The stageRuns[0].stage (1) of plan (f.x) must be at least 0 and below the number of stages (1)."),
            new Wrong(
                    "\"dot.1\": \"b\"",
                    "\"dot.1\": \"b -\"",
                    "The strategies.dot.1 (b -) of plan (f.x) must say one thing for each of the 1 axes of mesh 2."),
            new Wrong(
                    "\"latencyNanos\": 1000,",
                    "\"latencyNanos\": 9000000000000000000,",
                    "The latencyNanos (9000000000000000000) of a link at cluster.intraHost of plan (f.x, line 8) must be at"),
            new Wrong(
                    "\"nanosBySizeByKind\": \\{}",
                    "\"nanosBySizeByKind\": {\"dot\": {}}",
                    "The times of dot at cluster.measured of plan (f.x, line 10) must be one at least."),
            new Wrong(
                    "\"strategies\": .*",
                    "\"strategies\": [],",
                    "The strategies ([]) of plan (f.x, line 17) must be a map of keys."),
            new Wrong(
                    "\"size\": 2",
                    "\"size\": {}",
                    "mesh.axes[0].size ({}) of plan (f.x, line 12) must be a whole number."),
            new Wrong("\"candidates\": \\[]\\s*}", "\"candidates\": [", "must be JSON: Unexpected end-of-input"),
            new Wrong("\"candidates\"", "candidates", "must be JSON: "),
            new Wrong("\"stages\": 1,", "\"stages\": 1, \"stages\": 1,", "Duplicate field 'stages'"),
            new Wrong("\"candidates\": \\[]\\s*}", "\"candidates\": []} {", "must end after its first value."));

    private static List<String> messages(
            String good, List<Wrong> wrongs, BiFunction<String, String, Object> parse, List<String> faults) {
        List<String> messages = new ArrayList<>();
        for (Wrong wrong : wrongs) {
            String bad = good.replaceFirst(wrong.good(), wrong.bad().replace("\\", "\\\\"));
            assertThat(bad).as(wrong.good()).isNotEqualTo(good);
            String message = refused(bad, parse);
            messages.add(message);
            if (!message.contains(wrong.told())) {
                faults.add(wrong + "\n   told: " + message);
            }
        }
        for (String bad : List.of("", "[]", "- a\n- b", "5", "null", "\"text\"")) {
            messages.add(refused(bad, parse));
        }
        return messages;
    }

    private static String refused(String bad, BiFunction<String, String, Object> parse) {
        Throwable thrown = catchThrowable(() -> parse.apply(bad, "f.x"));
        assertThat(thrown).as(bad).isInstanceOf(UserError.class);
        return String.valueOf(thrown.getMessage());
    }

    @Test
    void goodFilesAreRead() {
        Cluster cluster = ClusterText.parse(CLUSTER, "f.x");
        assertThat(PlanText.parse(PLAN, "f.x").cluster()).isEqualTo(cluster);
        String whole = CLUSTER.replace("2000", "2.0e3").replace("1.0e10", "1e10");
        assertThat(ClusterText.parse(whole, "f.x")).isEqualTo(cluster);
    }

    @Test
    void eachMistakeIsToldInTheFilesOwnWords() {
        List<String> faults = new ArrayList<>();
        List<String> messages = messages(CLUSTER, CLUSTERS, ClusterText::parse, faults);
        messages.addAll(messages(PLAN, PLANS, PlanText::parse, faults));
        for (String message : messages) {
            List<String> lines = message.lines().toList();
            boolean shape = lines.size() <= 2
                    && lines.get(0).startsWith("The ")
                    && lines.get(0).contains("f.x")
                    && lines.get(0).contains(" must ")
                    && (lines.size() == 1 || lines.get(1).startsWith("Maybe "));
            boolean leaks = message.matches(
                    "(?s).*(dev\\.drover|java\\.|Deserializ|JsonToken|Jackson|REDACTED|creator|fasterxml|START_|StreamRead|`).*");
            if (!shape || leaks) {
                faults.add(message);
            }
        }
        assertThat(String.join("\n", faults)).isEmpty();
    }

    @Test
    void whatIsNoMapIsToldSo() {
        for (String bad : List.of("", "# nothing\n", "- a\n- b\n", "5\n")) {
            assertThat(refused(bad, ClusterText::parse)).startsWith("The cluster (f.x) must be a map of keys");
        }
        for (String bad : List.of("", "[]", "5")) {
            assertThat(refused(bad, PlanText::parse)).startsWith("The plan (f.x) must be a map of keys");
        }
    }
}
