package dev.drover.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;
import picocli.CommandLine.Model.OptionSpec;

/** The options of every command are a contract: a change shows in options.txt, and docs/cli.md tells about each. */
class OptionsTest {
    private static final Path GOLDEN = Path.of("src", "test", "resources", "options.txt");
    private static final Path ACTUAL = Path.of("target", "options.txt");
    private static final Path PAGE = Path.of("..", "docs", "cli.md");

    private static Map<String, CommandLine> commands() {
        return new TreeMap<>(Main.commandLine().getSubcommands());
    }

    private static String text() {
        List<String> lines = new ArrayList<>();
        commands().forEach((name, command) -> {
            lines.add(name);
            command.getCommandSpec()
                    .positionalParameters()
                    .forEach(parameter -> lines.add("  " + parameter.paramLabel()));
            command.getCommandSpec().options().stream()
                    .sorted(Comparator.comparing(OptionSpec::longestName))
                    .forEach(option -> lines.add("  "
                            + String.join(", ", option.names())
                            + (option.arity().max() == 0 ? "" : " " + option.paramLabel())
                            + (option.defaultValue() == null || option.arity().max() == 0
                                    ? ""
                                    : " = " + option.defaultValue())));
        });
        return String.join("\n", lines) + "\n";
    }

    @Test
    void optionsAreThoseOfTheGoldenFile() throws IOException {
        String actual = text();
        Files.createDirectories(ACTUAL.getParent());
        Files.writeString(ACTUAL, actual);
        assertThat(actual)
                .as("copy cli/%s to cli/%s to accept a change", ACTUAL, GOLDEN)
                .isEqualTo(Files.readString(GOLDEN));
    }

    @Test
    void thePageTellsAboutEachOption() throws IOException {
        String page = Files.readString(PAGE);
        List<String> missing = new ArrayList<>();
        commands().forEach((name, command) -> {
            if (!page.contains("\n## " + name + "\n")) {
                missing.add(name);
            }
            for (OptionSpec option : command.getCommandSpec().options()) {
                if (!page.contains("`" + option.longestName())) {
                    missing.add(name + " " + option.longestName());
                }
            }
        });
        assertThat(missing).isEmpty();
    }

    /** {@code --help}, the same as no command at all, tells the exit codes that the page tells. */
    @Test
    void helpAndThePageTellTheSameExitCodes() throws IOException {
        String help = CommandRun.of("--help").out();
        assertThat(CommandRun.of().out()).isEqualTo(help);
        assertThat(help).contains("Commands:", "train");
        String told = help.substring(help.indexOf("Exit codes:"), help.indexOf("Example:"));
        Set<String> inPage = new TreeSet<>();
        Files.readString(PAGE)
                .lines()
                .filter(line -> line.matches("\\| \\d+(, \\d+)* \\|.*"))
                .forEach(line ->
                        inPage.addAll(List.of(line.split("\\|")[1].strip().split(", "))));
        Set<String> inHelp = new TreeSet<>();
        Matcher numbers = Pattern.compile("\\d+").matcher(told);
        while (numbers.find()) {
            inHelp.add(numbers.group());
        }
        assertThat(inPage).contains("0", "130").isEqualTo(inHelp);
        for (String command : List.of("plan", "verify", "train")) {
            assertThat(CommandRun.of(command, "--help").out().replaceAll("\\s+", " "))
                    .contains("(default local:4)");
        }
    }

    /** Picocli breaks lines at 80 columns, wherever that is. */
    @Test
    void footersAreNotBroken() {
        Map<String, CommandLine> all = commands();
        all.put("drover", Main.commandLine());
        all.forEach((name, command) -> {
            List<String> lines = command.getUsageMessage().lines().toList();
            assertThat(lines)
                    .as(name)
                    .allMatch(line -> line.length() <= 80)
                    .contains(command.getCommandSpec().usageMessage().footer());
        });
    }

    @Test
    void eachCommandHasAnExampleThatParses() {
        commands().forEach((name, command) -> {
            List<String> examples = List.of(
                            command.getCommandSpec().usageMessage().footer())
                    .stream()
                    .filter(line -> line.startsWith("Example: drover " + name + " "))
                    .toList();
            assertThat(examples).as("examples of %s", name).isNotEmpty();
            for (String example : examples) {
                Main.commandLine()
                        .parseArgs(
                                example.substring("Example: drover ".length()).split(" ", -1));
            }
        });
    }
}
