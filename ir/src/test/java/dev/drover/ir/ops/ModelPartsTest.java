package dev.drover.ir.ops;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.drover.ir.graph.Computation;
import dev.drover.ir.text.HloReader;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** {@link LocalizeChecks} on the ops of JAX training steps, as they come. */
final class ModelPartsTest {
    private static final Path CORPUS = Path.of("..", "..", "shared", "corpus", "jax");

    @ParameterizedTest
    @CsvSource({"mlp8_tiny, 40", "dlrm_tiny, 30", "moe_tiny, 100", "gpt_tiny_scan, 80"})
    void partsMakeTheWhole(String model, int atLeast) {
        assumeTrue(Files.isDirectory(CORPUS), "The corpus (" + CORPUS + ") is not here.");
        int checked = 0;
        for (Computation computation :
                HloReader.read(CORPUS.resolve(model).resolve("step.hlo")).computations()) {
            checked += LocalizeChecks.checkEach(computation, 2500, 31);
        }
        assertThat(checked).isGreaterThanOrEqualTo(atLeast);
    }
}
