package dev.drover.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.plan.cluster.ClusterText;
import dev.drover.plan.cluster.Presets;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Every mistake ends in one clear message and exit code 2, never in a stack. */
class BadInputTest {
    private static final String MLP = "mlp:layers=2,hidden=16,batch=16";
    private static final String HLO = """
            HloModule step

            ENTRY main {
              w = f32[4,4] parameter(0)
              x = f32[8,4] parameter(1)
              y = f32[8,4] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
              ROOT out = (f32[8,4]) tuple(y)
            }
            """;

    @TempDir
    Path folder;

    private Path file(String name, String text) throws IOException {
        Path file = folder.resolve(name);
        Files.writeString(file, text);
        return file;
    }

    private static void assertMistake(CommandRun run, String... parts) {
        assertThat(run.exitCode()).as(run.err()).isEqualTo(2);
        assertThat(run.err()).doesNotContain("\tat ").doesNotContain("bug in drover");
        for (String part : parts) {
            assertThat(run.err()).contains(part);
        }
    }

    @Test
    void aTruncatedModel() throws IOException {
        Path model = file("cut.hlo", HLO.substring(0, HLO.indexOf("rhs_contracting") + 5));
        assertMistake(CommandRun.of("inspect", model.toString()), "cut.hlo", "6");
    }

    @Test
    void anUnknownOpcode() throws IOException {
        Path model = file("op.hlo", HLO.replace(" dot(", " frobnicate("));
        assertMistake(CommandRun.of("inspect", model.toString()), "frobnicate", "op.hlo");
    }

    @Test
    void aMissingModel() {
        assertMistake(CommandRun.of("plan", "nothing.hlo"), "nothing.hlo", "Maybe");
    }

    @Test
    void missingDataIsToldBeforeTheSearch() {
        for (String[] command : new String[][] {
            {"verify", MLP, "--cluster", "m8:1", "--inputs", "nothing.safetensors"},
            {"train", MLP, "--cluster", "m8:1", "--inputs", "nothing.safetensors"},
            {"train", "gpt:layers=1,hidden=8,heads=1,seq=8,batch=8", "--cluster", "m8:1", "--data", "nothing.txt"}
        }) {
            CommandRun run = CommandRun.of(command);
            assertMistake(run, "nothing.");
            assertThat(run.err()).doesNotContain("[1").doesNotContain("measuring");
        }
    }

    @Test
    void anUnknownZooKey() {
        assertMistake(CommandRun.of("inspect", "gpt:layer=4"), "layer", "layers");
    }

    @Test
    void tooLittleMemory() throws IOException {
        CommandRun preset = CommandRun.of("plan", MLP, "--cluster", "m8:1", "--json");
        assertThat(preset.exitCode()).as(preset.err()).isZero();
        String small = ClusterText.print(Presets.parse("m8:1", () -> {
                    throw new AssertionError("measured");
                }))
                .replaceFirst("name: .*", "name: small")
                .replaceFirst("memoryBytes: .*", "memoryBytes: 500");
        Path cluster = file("small.yaml", small);
        assertMistake(
                CommandRun.of("plan", MLP, "--cluster", cluster.toString()), "memory", "stage", "missing", "small");
    }

    @Test
    void anUnknownClusterKey() throws IOException {
        Path cluster = file("c.yaml", "name: x\ndeviceType: []\n");
        assertMistake(CommandRun.of("plan", MLP, "--cluster", cluster.toString()), "deviceType", "deviceTypes");
    }

    @Test
    void moreStagesThanWorkers() {
        assertMistake(
                CommandRun.of("plan", MLP, "--cluster", "m8:1", "--stages", "16"),
                "stages (16)",
                "devices (8)",
                "--stages 8 or more devices");
        assertMistake(
                CommandRun.of("plan", MLP, "--cluster", "m8:1", "--stages", "0"), "Maybe use --stages 1, or leave");
    }

    @Test
    void microBatchesThatDoNotDivideTheBatch() {
        assertMistake(
                CommandRun.of("plan", MLP, "--cluster", "m8:1", "--micro-batches", "5"),
                "micro-batches (5)",
                "batch (16)");
    }

    @Test
    void aPlanForAnotherModel() throws IOException {
        Path plan = folder.resolve("the plan.json");
        CommandRun made = CommandRun.of("plan", MLP, "--cluster", "m8:1", "-o", plan.toString(), "--timeout", "1");
        assertThat(made.exitCode()).as(made.err()).isZero();
        assertThat(made.out()).contains("Try: ./drover explain '" + plan + "'");
        for (String command : new String[] {"plan", "inspect"}) {
            assertMistake(
                    CommandRun.of(command, plan.toString()),
                    "The model (" + plan + ") must be a file of HLO text or a name of the zoo, but it is a plan.",
                    "Maybe give it to explain, report, simulate, train or verify, which take plans.");
        }
        assertMistake(
                CommandRun.of("simulate", plan.toString(), "--model", "mlp:layers=3,hidden=16,batch=16"),
                "fingerprint",
                "Maybe plan this model again");
        Files.writeString(plan, Files.readString(plan).replace("\"microBatches\"", "\"microBatchs\""));
        assertMistake(CommandRun.of("explain", plan.toString()), "microBatchs", "microBatches");
    }

    @Test
    void aPortInUse() throws IOException {
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            assertMistake(
                    CommandRun.of(
                            "train",
                            MLP,
                            "--workers",
                            "1",
                            "--steps",
                            "1",
                            "--port",
                            String.valueOf(taken.getLocalPort()),
                            "--run-folder",
                            folder.resolve("run").toString()),
                    "port (" + taken.getLocalPort() + ")");
        }
    }

    @Test
    void wrongOptions() {
        assertMistake(CommandRun.of("plan"), "MODEL");
        assertMistake(CommandRun.of("plan", MLP, "--mesh", "2xx"), "2xx");
        assertMistake(CommandRun.of("plan", MLP, "--stage", "2"), "--stage");
        assertMistake(CommandRun.of("train", MLP, "--steps", "0"), "steps (0)");
        assertMistake(CommandRun.of("plan", MLP, "--schedule", "1f1c"), "1f1c");
        assertMistake(CommandRun.of("plan", MLP, "--cluster", "m9:1"), "m9");
        assertMistake(CommandRun.of("solve", "missing.json"), "missing.json");
        assertMistake(CommandRun.of("train", MLP, "--port", "99999"), "port (99999)");
        assertMistake(CommandRun.of("train", MLP, "--threads", "-1"), "threads (-1)");
        assertMistake(CommandRun.of("verify", MLP, "--random", "-1"), "(-1) of random plans");
        assertMistake(CommandRun.of("plan", MLP, "--cluster", "m8:1", "--timeout", "-3"), "timeout (-3.0)");
        assertMistake(CommandRun.of("inspect", ""), "model ()");
        assertMistake(CommandRun.of("inspect", folder.toString()), folder.toString());
    }

    /** In words of our own, with the nearest name. */
    @Test
    void wrongCommandLines() {
        for (String[] line : new String[][] {
            {"foo", "The command (foo) must be one of explain, help, inspect, plan, ", "Maybe see drover --help."},
            {"trian", "The command (trian) must be one of", "Maybe write train."},
            {"help trian", "The command (trian) must be one of", "Maybe write train."},
            {"--wokers 4", "The option (--wokers) of drover must be", "Maybe see drover --help."},
            {"train M --wokers 4", "The option (--wokers) of drover train must be", "Maybe write --workers."},
            {"train --wokers=4 M", "The option (--wokers) of drover train must be", "Maybe write --workers."},
            {"train M --zzz", "The option (--zzz) of drover train must be", "Maybe see drover train --help."},
            {"train M N", "The argument (N) of drover train must be", "Maybe see drover train --help."},
            {"train M --workers x", "The option --workers (x) must be a whole number.", "Maybe see"},
            {"train M --workers 99999999999", "(99999999999) must be a whole number between", "Maybe see"},
            {"plan M --timeout soon", "The option --timeout (soon) must be a number.", "Maybe see"},
            {"plan M --workers", "The option --workers must have a value: N.", "Maybe see"},
            {"plan M --seed 1 --seed 2", "The option --seed must be given only once.", ""},
            {"plan", "The argument MODEL of drover plan must be given.", "Maybe see drover plan --help."},
        }) {
            CommandRun run = CommandRun.of(line[0].split(" "));
            assertMistake(run, "drover: The ", line[1], line[2]);
            assertThat(run.err().lines().count()).as(run.err()).isLessThanOrEqualTo(2);
        }
        assertThat(CommandRun.of("help", "plan").out())
                .isEqualTo(CommandRun.of("plan", "--help").out())
                .contains("--micro-batches");
        assertThat(CommandRun.of("help").out())
                .isEqualTo(CommandRun.of("--help").out());
    }

    /** Advice that can be followed: nothing of workers where a cluster is given. */
    @Test
    void meshesThatDoNotFit() {
        for (String[] line : new String[][] {
            {"--mesh 3", "The devices (3) of mesh (3) must divide the devices (8)", "Maybe use --mesh 2."},
            {"--mesh 4x4", "The devices (16) of mesh (4x4) must divide the devices (8)", "Maybe use --mesh 8."},
            {"--stages 2 --mesh 8", "(2) times the devices (8) of mesh (8)", "Maybe use --stages 1, or leave"},
            {"--mesh 2x2x2", "The mesh (2x2x2) of a plan must have one or two axes", ""},
        }) {
            CommandRun run = CommandRun.of(("plan " + MLP + " -c m8:1 " + line[0]).split(" "));
            assertMistake(run, line[1], line[2]);
        }
    }

    private String small(long memoryBytes) throws IOException {
        return file("small.yaml", CommandRun.smallCluster(memoryBytes)).toString();
    }

    /** No advice to use micro-batches where the step cannot be cut in time. */
    @Test
    void memoryThatIsMissingWhereSamplesAreMixed() throws IOException {
        Path mixing = file("mixing.hlo", """
                HloModule step

                ENTRY main {
                  w = f32[8,8] parameter(0)
                  x = f32[8,8] parameter(1)
                  r = f32[8,8] reverse(x), dimensions={0,1}
                  y = f32[8,8] multiply(x, r)
                  z = f32[8,8] dot(y, y), lhs_contracting_dims={1}, rhs_contracting_dims={1}
                  v = f32[8,8] add(w, z)
                  ROOT out = (f32[8,8]) tuple(v)
                }
                """);
        CommandRun run = CommandRun.of("plan", mixing.toString(), "-c", small(200));
        assertMistake(run, "The memory of cluster (small)", "Maybe use more devices or a smaller batch.");
        assertMistake(
                CommandRun.of("plan", MLP, "-c", small(12000)),
                "Maybe use more devices, more micro-batches or a smaller batch.");
    }

    /** A model where a plan is wanted. */
    @Test
    void aModelIsNoPlan() throws IOException {
        for (String model : new String[] {MLP, file("step.hlo", HLO).toString()}) {
            for (String command : new String[] {"explain", "simulate", "report"}) {
                assertMistake(
                        CommandRun.of(command, model),
                        "The plan file (" + model + ") must be",
                        "Maybe plan first: ./drover plan " + model + " -o plan.json.");
            }
        }
    }

    @Test
    void stagesThatDoNotDivideTheWorkers() {
        assertMistake(
                CommandRun.of("plan", MLP, "--cluster", "m8:1", "--stages", "3"),
                "stages (3)",
                "divide the devices (8)",
                "Maybe use --stages 2 or --stages 4.");
    }

    @Test
    void planFiles() throws IOException {
        CommandRun late = CommandRun.of(
                "plan",
                MLP,
                "--cluster",
                "m8:1",
                "-o",
                folder.resolve("no/plan.json").toString());
        assertMistake(late, "plan.json", "must be writable", "does not exist");
        assertThat(late.err()).doesNotContain("[1");
        Path broken = file("broken.json", "{\n\"version\": 3,");
        CommandRun run = CommandRun.of("explain", broken.toString());
        assertMistake(run, "broken.json", "line 2");
        assertThat(run.err()).doesNotContain("REDACTED");
    }

    @Test
    void numbersOutOfRange() {
        assertMistake(
                CommandRun.of("plan", MLP, "--cluster", "m8:1", "--micro-batches", "0"),
                "micro-batches (0)",
                "at least 1");
        assertMistake(CommandRun.of("plan", MLP, "--cluster", "local:100000"), "number (100000)", "at most 256");
    }

    @Test
    void aBrokenProblem() throws IOException {
        Path problem = file("p.json", "{\"problem\": {\"name\": \"x\", \"nodes\": {\"intervals\": [[0, 1]");
        assertMistake(CommandRun.of("solve", problem.toString()), "p.json");
    }

    @Test
    void aProblemWithoutChoiceIsExplainedWithIntervalAndExcess() throws IOException {
        Path problem = file(
                "tight.json",
                "{\"problem\": {\"name\": \"x\", \"nodes\": {\"intervals\": [[0, 10], [5, 15]], \"costs\": [[1, 2], [1, 2]],"
                        + " \"usages\": [[6, 7], [8, 6]]}, \"edges\": {\"nodes\": [], \"costs\": []}, \"usage_limit\": 10}}");
        assertMistake(CommandRun.of("solve", problem.toString()), "tight.json", "[5, 10)", "by 2");
    }

    @Test
    void aProblemThatIsNoGzipOrHasNegativeCosts() throws IOException {
        assertMistake(CommandRun.of("solve", file("p.json.gz", "{}").toString()), "p.json.gz", "gzip");
        Path negative = file(
                "n.json",
                "{\"problem\": {\"name\": \"x\", \"nodes\": {\"intervals\": [[0, 1]], \"costs\": [[-1]], \"usages\": [[0]]},"
                        + " \"edges\": {\"nodes\": [], \"costs\": []}}}");
        assertMistake(CommandRun.of("solve", negative.toString()), "-1", "Maybe");
        assertMistake(CommandRun.of("solve", negative.toString(), "--timeout", "0"), "timeout (0.0)");
    }

    /** From another folder than the one where it was planned. */
    @Test
    void aModelIsLookedForBesideItsPlan() throws IOException {
        String training = """
                HloModule step

                ENTRY main {
                  w = f32[4,4] parameter(0)
                  x = f32[8,4] parameter(1)
                  y = f32[8,4] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
                  g = f32[4,4] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0}
                  new = f32[4,4] subtract(w, g)
                  ROOT out = (f32[4,4]) tuple(new)
                }
                """;
        Path model = file("beside.hlo", training);
        Path plan = folder.resolve("plan.json");
        CommandRun made =
                CommandRun.of("plan", model.toString(), "--cluster", "s1:1", "-o", plan.toString(), "--timeout", "1");
        assertThat(made.exitCode()).as(made.err()).isZero();
        Files.writeString(plan, Files.readString(plan).replace(model.toString(), "beside.hlo"));
        CommandRun found = CommandRun.of("simulate", plan.toString());
        assertThat(found.exitCode()).as(found.err()).isZero();
        // Without a loss there is none to show, and no advice about it.
        CommandRun trained = CommandRun.of(
                "train",
                plan.toString(),
                "--steps",
                "2",
                "--json",
                "--run-folder",
                folder.resolve("run").toString());
        assertThat(trained.exitCode()).as(trained.err()).isZero();
        assertThat(trained.out()).contains("\"losses\":[]");
        assertThat(trained.err())
                .containsOnlyOnce("is known to be its loss, so none is shown")
                .doesNotContain("NaN")
                .doesNotContain("learning rate");
        Files.delete(model);
        assertMistake(
                CommandRun.of("simulate", plan.toString()),
                "The model (beside.hlo) of plan (" + plan + ") must be an existing file, here or beside the plan.",
                "Maybe say where it is with --model.");
    }

    @Test
    void expectedOutputsWithoutTheirInputs() {
        assertMistake(
                CommandRun.of("verify", MLP, "--cluster", "m8:1", "--expected", "nothing.safetensors"),
                "The option --expected (nothing.safetensors) must be given with --inputs");
    }
}
