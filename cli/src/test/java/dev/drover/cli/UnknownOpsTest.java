package dev.drover.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Ops that workers have no kernel for: refused by name where they would be run, told where they are only looked at. */
class UnknownOpsTest {
    private static final String STEP = """
            HloModule u, input_output_alias={ {0}: (0, {}, may-alias) }

            ENTRY e {
              w = f32[8] parameter(0)
              x = f32[8] parameter(1)
              k = f32[8] custom-call(x), custom_call_target="your_kernel"
              j = f32[8] custom-call(k), custom_call_target="my_kernel"
              m = f32[8] multiply(w, j)
              n = f32[8] subtract(w, m)
              ROOT t = (f32[8], f32[8]) tuple(n, m)
            }
            """;
    private static final String NAMES = "(custom-call my_kernel, custom-call your_kernel)";

    @Test
    void toldAllAtOnceBeforeAnythingIsPlanned(@TempDir Path folder) throws IOException {
        String step = Files.writeString(folder.resolve("step.hlo"), STEP).toString();
        String cluster = Files.writeString(folder.resolve("c.yaml"), CommandRun.smallCluster(1 << 30))
                .toString();
        String logs = folder.resolve("logs").toString();
        for (String command : new String[] {"verify", "train"}) {
            CommandRun run = CommandRun.of(command, step, "--cluster", cluster, "--run-folder", logs);
            assertThat(run.exitCode()).as(run.err()).isEqualTo(Main.USER_MISTAKE);
            assertThat(run.message())
                    .startsWith("drover: The ops " + NAMES + " of the model must be ones that workers can run.");
            assertThat(run.err()).doesNotContain("[1/");
        }
        String plan = folder.resolve("plan.json").toString();
        for (String[] args : new String[][] {
            {"inspect", step}, {"plan", step, "--cluster", cluster, "-o", plan}, {"explain", plan}, {"simulate", plan}
        }) {
            CommandRun run = CommandRun.of(args);
            assertThat(run.exitCode()).as(run.err()).isZero();
            assertThat(run.err()).containsOnlyOnce("workers cannot run the ops " + NAMES);
        }
    }
}
