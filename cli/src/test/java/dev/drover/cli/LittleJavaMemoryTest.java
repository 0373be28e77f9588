package dev.drover.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.testkit.ProcessCluster;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A model that is too large for the heap, in a process of its own: a message, not a stack. */
class LittleJavaMemoryTest {
    private static final long DEADLINE_SECONDS = 120;

    @TempDir
    Path folder;

    @Test
    void isTold() throws Exception {
        Path err = folder.resolve("err");
        Process inspect = CommandRun.java(24, Main.class, "inspect", "gpt:layers=1000")
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .redirectError(err.toFile())
                .start();
        try {
            assertThat(inspect.waitFor(DEADLINE_SECONDS, TimeUnit.SECONDS)).isTrue();
            assertThat(Files.readString(err))
                    .startsWith("drover: The memory of Drover itself (")
                    .contains("Maybe give it more, as in DROVER_JAVA_OPTS=-Xmx8g")
                    .doesNotContain("\tat ");
            assertThat(inspect.exitValue()).isEqualTo(2);
        } finally {
            inspect.destroyForcibly();
            ProcessCluster.assertGone(List.of(inspect.pid()));
        }
    }
}
