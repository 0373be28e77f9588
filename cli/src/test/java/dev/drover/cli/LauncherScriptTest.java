package dev.drover.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** The script {@code drover} of this project, in a folder where builds and Java are scripts that tell what they were asked. */
@DisabledOnOs(OS.WINDOWS)
class LauncherScriptTest {
    private static final long DEADLINE_SECONDS = 60;

    @TempDir
    Path root;

    private Path launcher = Path.of("");

    @BeforeEach
    void makeProject() throws IOException {
        launcher = root.resolve("cli/target/quick/launcher");
        Files.copy(Path.of("../drover"), root.resolve("drover"), StandardCopyOption.COPY_ATTRIBUTES);
        Files.writeString(root.resolve("pom.xml"), "");
        script("mvnw", """
                echo build >>"$(dirname "$0")/builds"
                sleep 1
                echo a.jar >"$(dirname "$0")/cli/target/quick/launcher/classpath"
                """);
        script("jdk/bin/java", """
                case $1 in
                -version) echo 'openjdk version "17.0.1"' >&2 ;;
                *) echo "LC_ALL=${LC_ALL:-}" ;;
                esac
                """);
    }

    private void script(String name, String text) throws IOException {
        Path file = root.resolve(name);
        Files.createDirectories(file.getParent());
        Files.writeString(file, "#!/bin/sh\n" + text);
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
    }

    private Process start(String locale) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(root.resolve("drover").toString(), "--version");
        builder.environment().keySet().removeAll(List.of("LC_ALL", "LC_CTYPE", "LANG"));
        builder.environment().put("LANG", locale);
        builder.environment().put("JAVA_HOME", root.resolve("jdk").toString());
        return builder.redirectErrorStream(true).start();
    }

    private static String ended(Process process) throws Exception {
        try {
            String out = new String(process.getInputStream().readAllBytes(), java.nio.charset.StandardCharsets.UTF_8);
            assertThat(process.waitFor(DEADLINE_SECONDS, TimeUnit.SECONDS)).isTrue();
            assertThat(process.exitValue()).as(out).isZero();
            return out;
        } finally {
            process.destroyForcibly();
        }
    }

    /** Java takes names of files from the locale; in that of most containers it could not name those with letters beyond ASCII. */
    @Test
    void namesBeyondAsciiInTheLocaleC() throws Exception {
        for (String none : List.of("", "C", "POSIX")) {
            assertThat(ended(start(none))).endsWith("LC_ALL=C.UTF-8\n");
        }
        assertThat(ended(start("de_DE.UTF-8"))).endsWith("LC_ALL=\n");
    }

    @Test
    void manyAtOnceBuildOnceAlsoAfterOneWasKilled() throws Exception {
        Process dead = new ProcessBuilder("true").start();
        assertThat(dead.waitFor(DEADLINE_SECONDS, TimeUnit.SECONDS)).isTrue();
        Files.createDirectories(launcher);
        Files.createSymbolicLink(launcher.resolve("building"), Path.of(String.valueOf(dead.pid())));
        List<Process> processes = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            processes.add(start("C"));
        }
        int built = 0;
        for (Process process : processes) {
            String out = ended(process);
            assertThat(out).endsWith("LC_ALL=C.UTF-8\n");
            built += out.contains("drover: built.") ? 1 : 0;
        }
        assertThat(built).isEqualTo(1);
        assertThat(Files.readAllLines(root.resolve("builds"))).containsExactly("build");
        try (var left = Files.list(launcher)) {
            assertThat(left.map(Path::getFileName).map(Path::toString))
                    .containsExactlyInAnyOrder("build.log", "classpath", "stamp");
        }
        assertThat(ended(start("C"))).doesNotContain("building");
    }
}
