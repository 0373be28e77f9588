package dev.drover.backend.torch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.drover.ir.eval.Literal;
import dev.drover.ir.graph.Graph;
import dev.drover.ir.text.HloReader;
import dev.drover.safetensors.Safetensors;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** One training step of models that JAX lowered, against the values that XLA computed; skipped where the corpus is absent. */
class GoldenStepTest {
    private static final TorchMemory MEMORY = new TorchMemory();

    private static Path corpus() {
        for (String up : List.of("..", "../..")) {
            Path folder = Path.of(up, "shared", "corpus", "jax");
            if (Files.isDirectory(folder)) {
                return folder;
            }
        }
        return Path.of("absent");
    }

    private static List<Literal> read(Path file) {
        Safetensors tensors = Safetensors.open(file);
        List<Literal> out = new ArrayList<>();
        new TreeSet<>(tensors.tensors().keySet()).forEach(name -> out.add(tensors.literal(name)));
        return out;
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "bert_tiny",
                "dlrm_tiny",
                "dnabert_tiny_long",
                "gpt_tiny_scan",
                "gpt_tiny_tied",
                "gpt_tiny_untied",
                "mlp8_tiny",
                "moe_tiny",
                "resnet_tiny",
                "unet_tiny",
                "vgg_tiny"
            })
    void oneStep(String name) {
        Path folder = corpus().resolve(name);
        assumeTrue(Files.exists(folder), "The corpus (" + folder + ") is absent.");
        Graph graph = HloReader.read(folder.resolve("step.hlo"));
        Map<Integer, Integer> donations = new HashMap<>();
        graph.aliases().forEach(a -> donations.put(a.outputIndex().get(0), a.parameter()));
        TorchOptions options = TorchOptions.of(MEMORY).withDonations(donations);
        try (TorchProgram program = TorchProgram.compile(graph.entry(), options)) {
            assertThat(program.hostSteps()).isEmpty();
            List<TorchTensor> inputs = new ArrayList<>();
            read(folder.resolve("in.safetensors")).forEach(literal -> inputs.add(TorchTensor.of(MEMORY, literal)));
            List<TorchTensor> outputs = program.run(inputs);
            List<Literal> expected = read(folder.resolve("out_step1.safetensors"));
            assertThat(outputs).hasSameSizeAs(expected);
            for (int i = 0; i < expected.size(); i++) {
                close(name + " output " + i, expected.get(i), outputs.get(i).toLiteral());
            }
            outputs.forEach(TorchTensor::close);
            inputs.forEach(TorchTensor::close);
        }
        assertThat(MEMORY.usedBytes()).isZero();
    }

    /** f32, relative to the largest element: sums are in another order than XLA's, and Adam divides by small roots. */
    private static void close(String what, Literal expected, Literal actual) {
        assertThat(actual.shape()).as(what).isEqualTo(expected.shape());
        double largest = 0;
        double worst = 0;
        for (int i = 0; i < expected.size(); i++) {
            largest = Math.max(largest, Math.abs(expected.asDouble(i)));
            worst = Math.max(worst, Math.abs(expected.asDouble(i) - actual.asDouble(i)));
        }
        assertThat(worst).as(what).isLessThanOrEqualTo(2e-4 * largest + 1e-30);
    }
}
