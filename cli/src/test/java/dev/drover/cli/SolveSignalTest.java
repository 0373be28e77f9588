package dev.drover.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.solver.ContestFile;
import dev.drover.solver.StrategyProblem;
import dev.drover.testkit.ProcessCluster;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code drover solve} in a process of its own, ended by a signal. */
class SolveSignalTest {
    private static final long DEADLINE_SECONDS = 60;

    @TempDir
    Path folder;

    /** A dense problem that no second proves. */
    private Path problem() throws Exception {
        SplittableRandom random = new SplittableRandom(1);
        StrategyProblem.Builder builder = StrategyProblem.builder("dense");
        for (int i = 0; i < 40; i++) {
            builder.node(
                    0,
                    1,
                    random.longs(12, 0, 1000).toArray(),
                    random.longs(12, 0, 1000).toArray());
            for (int j = 0; j < i; j++) {
                builder.edge(j, i, random.longs(144, 0, 1000).toArray());
            }
        }
        Path file = folder.resolve("dense.json");
        ContestFile.write(builder.usageLimit(12_000).build(), file);
        return file;
    }

    @Test
    void aTerminatedSolvePrintsItsBestAnswer() throws Exception {
        Path out = folder.resolve("out");
        Path err = folder.resolve("err");
        Process solve = CommandRun.java(
                        256, Main.class, "solve", problem().toString(), "--timeout", "600", "--threads", "1", "--json")
                .redirectOutput(out.toFile())
                .redirectError(err.toFile())
                .start();
        try {
            long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(DEADLINE_SECONDS);
            while (!Files.readString(err).matches("(?s).*cost [0-9].*") && System.nanoTime() < deadline) {
                assertThat(solve.isAlive()).as(Files.readString(err)).isTrue();
                Thread.sleep(20);
            }
            solve.destroy();
            assertThat(solve.waitFor(DEADLINE_SECONDS, TimeUnit.SECONDS)).isTrue();
            assertThat(solve.exitValue()).isEqualTo(143);
            assertThat(Files.readString(out))
                    .contains("\"status\"")
                    .containsPattern("\"objective\" ?: ?[0-9]+")
                    .containsPattern("\"choices\" ?: ?\\[ ?[0-9]");
            assertThat(Files.readString(err)).contains("ended by a signal");
        } finally {
            solve.destroyForcibly();
            ProcessCluster.assertGone(List.of(solve.pid()));
        }
    }
}
