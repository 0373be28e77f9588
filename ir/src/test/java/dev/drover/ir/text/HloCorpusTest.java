package dev.drover.ir.text;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.drover.ir.graph.Graph;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Every HLO text that we have reads, prints and reads again to an equal graph. */
class HloCorpusTest {
    private static final Path CORPUS = Path.of("..", "..", "shared", "corpus");

    @Test
    void everyFileReadsPrintsAndReadsTheSame() throws IOException {
        assumeTrue(Files.isDirectory(CORPUS), "The corpus (" + CORPUS + ") is not here.");
        List<Path> files;
        try (Stream<Path> all = Files.walk(CORPUS)) {
            files = all.filter(file -> file.toString().matches(".*\\.hlo(\\.gz)?"))
                    .sorted()
                    .toList();
        }
        assertThat(files).hasSizeGreaterThan(50);
        for (Path file : files) {
            Graph graph = HloReader.read(file);
            String text = HloPrinter.print(graph);
            Graph again = HloReader.read(file + " (printed)", text);
            assertThat(GraphEquality.difference(graph, again))
                    .as(file.toString())
                    .isNull();
            assertThat(HloPrinter.print(again)).as(file.toString()).isEqualTo(text);
        }
    }
}
