package dev.drover.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.testkit.ProcessCluster;
import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.io.TempDir;

/** A standard output that takes nothing: a full disk is told, a reader that has enough is not. */
class StandardOutputTest {
    private static final long DEADLINE_SECONDS = 120;
    private static final String MLP = "mlp:layers=2,hidden=16,batch=16";
    private static final List<String[]> COMMANDS = List.of(
            new String[] {"inspect", MLP, "--inputs"},
            new String[] {"inspect", MLP, "--json"},
            new String[] {"plan", MLP, "-c", "m8:1", "--stages", "2"},
            new String[] {"--help"},
            new String[] {"help", "plan"});

    @TempDir
    Path folder;

    private static OutputStream failingWith(String reason) {
        return new OutputStream() {
            @Override
            public void write(int b) throws IOException {
                throw new IOException(reason);
            }
        };
    }

    @Test
    void aFullDiskIsAMistakeOfEachCommand() {
        for (String[] command : COMMANDS) {
            CommandRun run = CommandRun.into(failingWith("No space left on device"), command);
            assertThat(run.exitCode()).isEqualTo(2);
            assertThat(run.message())
                    .startsWith(
                            "drover: The standard output must take what the command prints, but the system says: No");
        }
    }

    @Test
    void aReaderThatHasEndedHasWhatItWanted() {
        for (String[] command : COMMANDS) {
            CommandRun run = CommandRun.into(failingWith("Broken pipe"), command);
            assertThat(run.exitCode()).isEqualTo(141);
            assertThat(run.err()).doesNotContain("output");
        }
        // What was wrong before comes first.
        assertThat(CommandRun.into(failingWith("Broken pipe"), "plan").exitCode())
                .isEqualTo(2);
    }

    private Process start(ProcessBuilder.Redirect out) throws IOException {
        return CommandRun.java(64, Main.class, "inspect", MLP, "--inputs")
                .redirectOutput(out)
                .redirectError(folder.resolve("err").toFile())
                .start();
    }

    private String told(Process process) throws Exception {
        try {
            assertThat(process.waitFor(DEADLINE_SECONDS, TimeUnit.SECONDS)).isTrue();
            return process.exitValue() + " " + Files.readString(folder.resolve("err"));
        } finally {
            process.destroyForcibly();
            ProcessCluster.assertGone(List.of(process.pid()));
        }
    }

    @Test
    void aRealPipeWithoutReader() throws Exception {
        Process process = start(ProcessBuilder.Redirect.PIPE);
        process.getInputStream().close();
        assertThat(told(process)).isEqualTo("141 ");
    }

    static boolean hasFullDevice() {
        return Files.isWritable(Path.of("/dev/full"));
    }

    @Test
    @EnabledIf("hasFullDevice")
    void aRealFullDevice() throws Exception {
        assertThat(told(start(ProcessBuilder.Redirect.to(new File("/dev/full")))))
                .startsWith("2 drover: The standard output must take what the command prints, but the system says: ");
    }
}
