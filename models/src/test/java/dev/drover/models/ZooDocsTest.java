package dev.drover.models;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** The tables of docs/models-zoo.md say what the code says. */
final class ZooDocsTest {

    @Test
    void eachKindHasItsTable() throws IOException {
        List<String> lines = Files.readAllLines(Path.of("..", "docs", "models-zoo.md"));
        List<ModelOption> shared = ModelAssembly.withTraining(List.of(), "see above", "see above");
        List<String> sharedNames = shared.stream().map(ModelOption::name).toList();
        for (ModelKind kind : Zoo.ALL) {
            List<ModelOption> own = new ArrayList<>();
            List<String> defaults = new ArrayList<>();
            for (ModelOption option : kind.options()) {
                if (!sharedNames.contains(option.name())) {
                    own.add(option);
                } else if (option.name().equals("optimizer") || option.name().equals("lr")) {
                    defaults.add(option.name() + "=" + option.absent());
                }
            }
            List<String> table = new ArrayList<>(table(own));
            table.add("Example: `" + kind.example() + "`. Defaults: `" + String.join(",", defaults) + "`.");
            assertThat(after(lines, "<!-- options " + kind.name() + " -->", table.size()))
                    .isEqualTo(table);
        }
        List<String> table = table(shared);
        assertThat(after(lines, "<!-- options all -->", table.size())).isEqualTo(table);
    }

    private static List<String> after(List<String> lines, String mark, int count) {
        int start = lines.indexOf(mark) + 1;
        assertThat(start).as(mark).isPositive();
        return lines.subList(start, Math.min(lines.size(), start + count));
    }

    private static List<String> table(List<ModelOption> options) {
        List<String> lines = new ArrayList<>();
        lines.add("| option | default | |");
        lines.add("|---|---|---|");
        for (ModelOption option : options) {
            String values = option.kind() == ModelOption.Kind.CHOICE ? ": " + String.join(", ", option.choices()) : "";
            lines.add("| `" + option.name() + "` | " + option.absent() + " | " + option.description() + values + " |");
        }
        lines.add("");
        return lines;
    }
}
