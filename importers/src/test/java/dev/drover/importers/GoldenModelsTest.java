package dev.drover.importers;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.fasterxml.jackson.databind.JsonNode;
import dev.drover.ir.eval.Evaluator;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.Graph;
import dev.drover.ir.pass.DeadCode;
import dev.drover.ir.pass.Flatten;
import dev.drover.ir.pass.FoldConstants;
import dev.drover.ir.pass.SimplifyTuples;
import dev.drover.ir.pass.UnrollLoops;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The reference evaluator against XLA on CPU, as JAX ran it.
 *
 * <p>Both round each f32 op to f32, in different orders of summation: the evaluator sums in f64 and rounds once, XLA sums f32 in
 * vectors. A single sum of n terms then differs by some sqrt(n) * 2^-24, about 1e-6 here. Adam divides by sqrt(v), which in the first
 * step is the gradient itself, so where a gradient is nearly zero its relative error comes through whole: 3e-5 of the largest
 * element is the worst seen (its square, v, twice that). All tiny models are f32 and s32; integers must be equal.
 */
class GoldenModelsTest {
    private static final double STEP_TOLERANCE = 1e-4;
    /** Ten steps add up ten times the error of one, but in the loss it is averaged. */
    private static final double LOSS_TOLERANCE = 2e-5;

    static Stream<String> models() {
        return TinyModels.NAMES.stream();
    }

    @ParameterizedTest
    @MethodSource("models")
    void oneStepGivesXlasOutputs(String model) {
        Path folder = TinyModels.folder(model);
        compareStep(ModelFile.graph(folder.resolve("step.hlo")).entry(), folder);
    }

    /** Marks of shardings change no value, and all become annotations. */
    @ParameterizedTest
    @MethodSource("models")
    void annotatedStepsMeanTheSame(String model) {
        Path folder = TinyModels.CORPUS.resolve("jax").resolve(model);
        Path file = folder.resolve("step_sharded_4x2.hlo");
        assumeTrue(Files.exists(file), "The model (" + file + ") is not here.");
        Computation entry = Flatten.run(ModelFile.graph(file)).entry();
        assertThat(entry.instructions()).noneMatch(i -> i.op().opcode().equals("custom-call"));
        assertThat(entry.instructions()).anyMatch(i -> i.annotations().containsKey("sharding"));
        compareStep(entry, folder);
    }

    private static void compareStep(Computation entry, Path folder) {
        List<Literal> expected = TinyModels.tensors(folder.resolve("out_step1.safetensors"), 'o');
        List<Literal> actual = run(entry, TinyModels.tensors(folder.resolve("in.safetensors"), 'a'));
        assertThat(actual).hasSameSizeAs(expected);
        for (int i = 0; i < expected.size(); i++) {
            assertThat(actual.get(i).shape()).isEqualTo(expected.get(i).shape());
            assertThat(worstError(actual.get(i), expected.get(i)))
                    .as("output %d", i)
                    .isLessThanOrEqualTo(expected.get(i).dtype().isFloat() ? STEP_TOLERANCE : 0);
        }
    }

    /** Relative to the largest element; NaN counts as infinitely wrong. */
    private static double worstError(Literal actual, Literal expected) {
        double largest = Double.MIN_NORMAL;
        double worst = 0;
        for (int i = 0; i < expected.size(); i++) {
            largest = Math.max(largest, Math.abs(expected.asDouble(i)));
            double error = Math.abs(expected.asDouble(i) - actual.asDouble(i));
            worst = Double.isNaN(error) ? Double.POSITIVE_INFINITY : Math.max(worst, error);
        }
        return worst / largest;
    }

    @ParameterizedTest
    @MethodSource("models")
    void tenStepsGiveXlasLosses(String model) throws IOException {
        Path folder = TinyModels.folder(model);
        Computation entry = ModelFile.graph(folder.resolve("step.hlo")).entry();
        JsonNode losses = TinyModels.info(model).get("losses10");
        List<Literal> arguments = TinyModels.tensors(folder.resolve("in.safetensors"), 'a');
        for (int step = 0; step < losses.size(); step++) {
            List<Literal> outputs = run(entry, arguments);
            int last = outputs.size() - 1;
            double expected = losses.get(step).asDouble();
            assertThat(Math.abs(outputs.get(last).asDouble(0) / expected - 1))
                    .as("step %d: %s, expected %s", step, outputs.get(last), expected)
                    .isLessThan(LOSS_TOLERANCE);
            List<Literal> next = new ArrayList<>(outputs.subList(0, last));
            next.addAll(arguments.subList(last, arguments.size()));
            arguments = next;
        }
    }

    @ParameterizedTest
    @MethodSource("models")
    void passesKeepEveryBit(String model) {
        Path folder = TinyModels.folder(model);
        Graph graph = ModelFile.graph(folder.resolve("step.hlo"));
        List<Literal> arguments = TinyModels.tensors(folder.resolve("in.safetensors"), 'a');
        List<Literal> expected = run(graph.entry(), arguments);
        for (Graph after : List.of(
                UnrollLoops.run(graph, 100_000),
                SimplifyTuples.run(graph),
                FoldConstants.run(graph),
                DeadCode.drop(graph),
                Flatten.run(graph, 0),
                Flatten.run(graph))) {
            assertThat(run(after.entry(), arguments)).isEqualTo(expected);
        }
    }

    private static List<Literal> run(Computation entry, List<Literal> arguments) {
        List<Literal> outputs = new ArrayList<>();
        for (Value value : ((Value.Tuple) Evaluator.evaluate(entry, arguments)).elements()) {
            outputs.add(value.literal());
        }
        return outputs;
    }
}
