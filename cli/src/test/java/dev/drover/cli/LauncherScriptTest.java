package dev.drover.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
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
                root=$(cd "$(dirname "$0")" && pwd)
                [ -f "$root/lost" ] || touch "$root/a.jar" "$root/b 1.jar"
                echo "$root/a.jar:$root/b 1.jar" >"$root/cli/target/quick/launcher/classpath"
                """);
        script("jdk/bin/java", """
                case " $* " in
                " -version ") echo 'openjdk version "17.0.1"' >&2 ;;
                *" -Xshare:dump "*)
                    echo dump >>"$(dirname "$0")/../../dumps"
                    case $* in *launcher/solve/next*) cp all.classes next && exit ;; esac
                    cp all.classes "$(echo "$*" | sed 's/.*SharedArchiveFile=\\([^ ]*\\) .*/\\1/')" ;;
                *" solve small.json "*) printf 'dev/drover/A id: 1\\n' >all.classes ;;
                *" -f drover.jar "*) touch drover.jar ;;
                *" --run-folder run "*)
                    printf '# a list\\njava/lang/Object id: 0\\n@cp x 1\\ndev/drover/A id: 1\\nb/B id: 2\\n' >1.list ;;
                *) echo "$* LC_ALL=${LC_ALL:-}" ;;
                esac
                """);
    }

    private void script(String name, String text) throws IOException {
        Path file = root.resolve(name);
        Files.createDirectories(file.getParent());
        Files.writeString(file, "#!/bin/sh\n" + text);
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
    }

    private Process start(String locale, String... command) throws IOException {
        List<String> line = new ArrayList<>(List.of(root.resolve("drover").toString()));
        line.addAll(List.of(command));
        ProcessBuilder builder = new ProcessBuilder(line);
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
            assertThat(ended(start(none, "--version"))).endsWith("LC_ALL=C.UTF-8\n");
        }
        assertThat(ended(start("de_DE.UTF-8", "--version"))).endsWith("LC_ALL=\n");
    }

    /** As where the folder of downloaded libraries was emptied, or is that of another user: never a stack of Java. */
    @Test
    void librariesThatAreGoneAreFetchedAgainOrNamed() throws Exception {
        assertThat(ended(start("C", "--version"))).contains("drover: built.");
        assertThat(ended(start("C", "--version"))).doesNotContain("building");
        Path library = root.toRealPath().resolve("b 1.jar");
        Files.delete(library);
        assertThat(ended(start("C", "--version"))).contains("drover: a library (" + library + ") is gone, building");
        assertThat(library).exists();
        Files.delete(library);
        Files.writeString(root.resolve("lost"), "");
        Process process = start("C", "--version");
        String out = new String(process.getInputStream().readAllBytes(), java.nio.charset.StandardCharsets.UTF_8);
        assertThat(process.waitFor(DEADLINE_SECONDS, TimeUnit.SECONDS)).isTrue();
        assertThat(process.exitValue()).isEqualTo(2);
        assertThat(out).contains("drover: The library (" + library + ") must be readable. Maybe use a copy");
    }

    @Test
    void manyAtOnceBuildOnceAlsoAfterOneWasKilled() throws Exception {
        Process dead = new ProcessBuilder("true").start();
        assertThat(dead.waitFor(DEADLINE_SECONDS, TimeUnit.SECONDS)).isTrue();
        Files.createDirectories(launcher);
        Files.createSymbolicLink(launcher.resolve("building"), Path.of(String.valueOf(dead.pid())));
        List<Process> processes = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            processes.add(start("C", "--version"));
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
                    .containsExactlyInAnyOrder("build.log", "classpath", "solve", "solve.log", "stamp");
        }
        assertThat(ended(start("C", "--version"))).doesNotContain("building");
    }

    /** By each build, of Drover's own classes too: those of another build must not be used. */
    @Test
    void classesForSolveAreReadAheadByTheBuild() throws Exception {
        String option = "solve/classes.jsa -Xlog:cds=off";
        assertThat(ended(start("C", "--version"))).contains("drover: built.").doesNotContain("SharedArchiveFile");
        assertThat(Files.readAllLines(root.resolve("dumps"))).containsExactly("dump");
        assertThat(ended(start("C", "solve", "p.json"))).contains(option, "-cp " + launcher.toRealPath());
        assertThat(ended(start("C", "plan"))).doesNotContain("SharedArchiveFile");
        Files.setLastModifiedTime(
                launcher.resolve("stamp"), FileTime.from(Instant.now().plusSeconds(2)));
        assertThat(ended(start("C", "solve", "p.json"))).doesNotContain("solve/");
    }

    /**
     * For one Java and one list of libraries, of all but Drover's own classes; without it everything works the same. Made by what starts
     * workers, and used by all commands.
     */
    @Test
    void classesAreReadAheadOnce() throws Exception {
        Path archive = launcher.resolve("classes.jsa");
        String option = "launcher/classes.jsa -Xlog:cds=off";
        assertThat(ended(start("C", "plan"))).doesNotContain("SharedArchiveFile");
        assertThat(ended(start("C", "train", "--help"))).doesNotContain("SharedArchiveFile");
        List<Process> processes = List.of(start("C", "train"), start("C", "verify"));
        for (Process process : processes) {
            assertThat(ended(process)).contains(option, "-Ddrover.archive=");
        }
        assertThat(Files.readAllLines(archive)).containsExactly("b/B", "java/lang/Object");
        assertThat(Files.readAllLines(root.resolve("dumps"))).containsExactly("dump", "dump");
        assertThat(ended(start("C", "plan"))).contains(option, "-Ddrover.archive=");
        // Another Java.
        Files.writeString(root.resolve("jdk/bin/java"), "# more\n", StandardOpenOption.APPEND);
        assertThat(ended(start("C", "train"))).contains(option);
        assertThat(Files.readAllLines(root.resolve("dumps"))).containsExactly("dump", "dump", "dump");
        // A failed one is not tried again.
        Files.delete(archive);
        assertThat(ended(start("C", "train"))).doesNotContain("SharedArchiveFile");
    }
}
