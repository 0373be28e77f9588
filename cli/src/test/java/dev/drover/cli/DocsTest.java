package dev.drover.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Commands in README and docs are commands: all parse, and those after a line {@code <!-- run -->} work. */
class DocsTest {
    private static final Path ROOT = Path.of("..");
    private static final Path FOLDER = Path.of("target", "docs");
    private static final String COMMAND = "    ./drover ";
    private static final String RUN = "<!-- run -->";

    private static List<String> pages() throws IOException {
        List<String> pages = new ArrayList<>();
        pages.add(Files.readString(ROOT.resolve("README.md")));
        try (var docs = Files.list(ROOT.resolve("docs"))) {
            for (Path page : docs.filter(file -> file.toString().endsWith(".md"))
                    .sorted()
                    .toList()) {
                pages.add(Files.readString(page));
            }
        }
        return pages;
    }

    private static String[] args(String line) {
        return line.substring(COMMAND.length()).strip().split(" +");
    }

    @Test
    void allCommandsParse() throws IOException {
        int count = 0;
        for (String page : pages()) {
            for (String line : page.lines().toList()) {
                if (line.startsWith(COMMAND)) {
                    Main.commandLine().parseArgs(args(line));
                    count++;
                }
            }
        }
        assertThat(count).isGreaterThan(10);
    }

    @Test
    @Timeout(value = 240, unit = TimeUnit.SECONDS)
    void markedCommandsRunAndTheirKeysAreTold() throws IOException {
        Files.createDirectories(FOLDER);
        String page = Files.readString(ROOT.resolve("docs").resolve("cli.md"));
        Files.writeString(FOLDER.resolve("problem.json"), problem(page));
        boolean run = false;
        int count = 0;
        for (String line : page.lines().toList()) {
            run = line.equals(RUN) || run && (line.isEmpty() || line.startsWith("    "));
            if (run && line.startsWith(COMMAND)) {
                String[] args = Arrays.stream(args(line)).map(DocsTest::placed).toArray(String[]::new);
                CommandRun result = CommandRun.of(args);
                assertThat(result.exitCode()).as(line + "\n" + result.err()).isZero();
                if (line.contains("--json")) {
                    JsonNode object = new ObjectMapper().readTree(result.out());
                    object.fieldNames()
                            .forEachRemaining(
                                    key -> assertThat(page).as("keys of" + line).contains("`" + key + "`"));
                }
                count++;
            }
        }
        assertThat(count).isGreaterThan(6);
    }

    /** Files without a folder go to, and come from, the test's folder. */
    private static String placed(String arg) {
        return arg.matches("[a-z]+\\.(json|html)") ? FOLDER.resolve(arg).toString() : arg;
    }

    /** The problem that the page shows. */
    private static String problem(String page) {
        return page.lines()
                .filter(line -> line.startsWith("    {\"problem\""))
                .findFirst()
                .orElseThrow();
    }
}
