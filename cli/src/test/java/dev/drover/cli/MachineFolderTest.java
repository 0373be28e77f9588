package dev.drover.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.drover.ir.UserError;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A home that cannot be written stops nothing. */
class MachineFolderTest {
    @TempDir
    Path folder;

    private final List<String> lines = new ArrayList<>();
    /** No user can make a folder below a file, not even the one who may do all. */
    private Path home = Path.of("");

    private Path temporary = Path.of("");

    @BeforeEach
    void make() throws IOException {
        home = Files.writeString(folder.resolve("file"), "").resolve("home");
        temporary = Files.createDirectories(folder.resolve("tmp"));
    }

    @Test
    void theFirstThatCanBeWrittenIsTaken() throws IOException {
        Path good = folder.resolve("a/.drover");
        assertThat(MachineFolder.choose(List.of(good, temporary), f -> false, lines::add))
                .isEqualTo(good);
        assertThat(good).isEmptyDirectory();
        assertThat(lines).isEmpty();
        for (Path bad : List.of(home, Path.of("?", ".drover"))) {
            assertThat(MachineFolder.choose(List.of(bad, temporary), f -> false, lines::add))
                    .isEqualTo(temporary);
            assertThat(lines)
                    .singleElement()
                    .asString()
                    .startsWith("the folder (" + bad + ") cannot be written, since ")
                    .endsWith("; what is measured of this machine is kept in " + temporary);
            lines.clear();
        }
        assertThat(Path.of("?")).doesNotExist();
    }

    @Test
    void whatIsKeptIsReadWhereNothingCanBeWritten() {
        assertThat(MachineFolder.choose(List.of(home, temporary), home::equals, lines::add))
                .isEqualTo(home);
        assertThat(lines).isEmpty();
        assertThatThrownBy(() -> MachineFolder.choose(List.of(home, home.resolve("tmp")), f -> false, lines::add))
                .isInstanceOf(UserError.class)
                .hasMessageContaining("The folder (" + home + ") for what is measured of this machine must be writable")
                .hasMessageContaining(home.resolve("tmp").toString());
    }

    /** The whole command with its workers, of which each unpacks native libraries too, by a user whose home cannot be written. */
    @Test
    @Timeout(value = 240, unit = TimeUnit.SECONDS)
    void aPlanForThisMachineIsFound() throws Exception {
        boolean again = true;
        for (int run = 0; run < 2; run++) {
            Path err = folder.resolve("err.txt");
            ProcessBuilder builder =
                    CommandRun.java(512, Main.class, "plan", "mlp:layers=1,hidden=8,batch=8", "--workers", "1");
            builder.environment().put("JDK_JAVA_OPTIONS", "-Duser.home=" + home + " -Djava.io.tmpdir=" + temporary);
            Process process = builder.redirectOutput(folder.resolve("out.txt").toFile())
                    .redirectError(err.toFile())
                    .start();
            try {
                assertThat(process.waitFor(200, TimeUnit.SECONDS)).isTrue();
                String told = Files.readString(err);
                assertThat(process.exitValue()).as(told).isZero();
                assertThat(told)
                        .containsOnlyOnce("drover: the folder (" + home.resolve(".drover") + ") cannot be written");
                if (run == 0 || !again) {
                    assertThat(told.contains("measuring this machine")).as(told).isEqualTo(run == 0);
                }
                // What was measured beside other work is measured again once that has ended.
                again = told.contains("other work takes");
            } finally {
                process.destroyForcibly();
            }
        }
        try (Stream<Path> made = Files.walk(temporary)) {
            List<Path> files = made.toList();
            assertThat(files.stream().map(path -> path.getFileName().toString()))
                    .contains("figures.json", "drover.lock");
            // Here, since links to libraries of the system among them are told by what clears the folder.
            for (Path file : files) {
                if (Files.isSymbolicLink(file)) {
                    Files.delete(file);
                }
            }
        }
    }
}
