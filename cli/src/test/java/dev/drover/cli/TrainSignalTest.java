package dev.drover.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import dev.drover.testkit.ProcessCluster;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** {@code drover train} in a process of its own, ended by Ctrl-C. */
class TrainSignalTest {
    private static final int DEADLINE_SECONDS = 60;

    @TempDir
    Path folder;

    /** A shell starts what it runs in the background so that it, and all that it starts, is deaf to interrupts. */
    private static boolean interruptsAreHeard() throws IOException {
        Path status = Path.of("/proc/self/status");
        if (!Files.exists(status)) {
            return true;
        }
        return Files.readAllLines(status).stream()
                .filter(line -> line.startsWith("SigIgn:"))
                .noneMatch(line -> (Long.parseUnsignedLong(line.substring(7).strip(), 16) & 2) != 0);
    }

    @Test
    @Timeout(value = 240, unit = TimeUnit.SECONDS)
    void anInterruptedTrainingTellsHowFarItCameAndWhatIsSaved() throws Exception {
        assumeThat(interruptsAreHeard())
                .as("these tests run in the background, where interrupts are not heard")
                .isTrue();
        Path err = folder.resolve("err");
        Path state = folder.resolve("state");
        Process train = CommandRun.java(
                        256,
                        Main.class,
                        "train",
                        "mlp:layers=1,hidden=8,batch=8",
                        "--cluster",
                        "s1:1",
                        "--steps",
                        "100000000",
                        "--checkpoint",
                        state.toString(),
                        "--checkpoint-every",
                        "3",
                        "--run-folder",
                        folder.resolve("run").toString())
                .redirectOutput(folder.resolve("out").toFile())
                .redirectError(err.toFile())
                .start();
        List<Long> workers = List.of();
        try {
            long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(DEADLINE_SECONDS);
            while (!Files.readString(err).contains("saved to ") && System.nanoTime() < deadline) {
                assertThat(train.isAlive()).as(Files.readString(err)).isTrue();
                Thread.sleep(20);
            }
            workers = train.descendants().map(ProcessHandle::pid).toList();
            new ProcessBuilder("kill", "-INT", String.valueOf(train.pid()))
                    .start()
                    .waitFor();
            assertThat(train.waitFor(DEADLINE_SECONDS, TimeUnit.SECONDS)).isTrue();
            assertThat(train.exitValue()).isEqualTo(130);
            assertThat(Files.readString(err))
                    .containsPattern("\ndrover: stopped after step [0-9]+; the same command goes on from " + state
                            + "/step-[0-9]+\n")
                    .doesNotContain("failed")
                    .doesNotContain("bug in drover");
        } finally {
            train.destroyForcibly();
            ProcessCluster.assertGone(List.of(train.pid()));
            ProcessCluster.assertGone(workers);
        }
    }
}
