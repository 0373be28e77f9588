package dev.drover.backend.torch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.ir.eval.Literal;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.Compare;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.models.Model;
import dev.drover.models.Zoo;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Fused kernels against the ops one by one, on a whole training step. */
class FusionTest {
    private static final TorchMemory MEMORY = new TorchMemory();

    @Test
    void aTransformersStepTakesFarFewerKernelsAndGivesTheSame() {
        Model model = Zoo.parse("gpt:layers=2,hidden=32,heads=2,seq=16,batch=3,vocab=19");
        Computation computation = model.step().graph().entry();
        List<Literal> inputs = Check.inputs(model);
        TorchOptions options = TorchOptions.of(MEMORY);
        try (TorchProgram fused = TorchProgram.compile(computation, options);
                TorchProgram plain = TorchProgram.compile(computation, options.withFuse(false))) {
            assertThat(fused.hostSteps()).isEmpty();
            // Per block 2 norms (21 steps each way less 2), softmax (8 less 2) and GELU (17 less 2), by count.
            assertThat(plain.stepCount() - fused.stepCount()).isGreaterThan(2 * 60);
            List<Literal> expected = plain.runLiterals(inputs);
            List<Literal> actual = fused.runLiterals(inputs);
            for (int i = 0; i < expected.size(); i++) {
                // Adam's first step divides a gradient by its size: where that is nearly zero, the direction is noise.
                double worst = 0;
                for (int j = 0; j < expected.get(i).size(); j++) {
                    double difference =
                            Math.abs(expected.get(i).asDouble(j) - actual.get(i).asDouble(j));
                    worst += difference / expected.get(i).size();
                }
                assertThat(worst)
                        .as(
                                "mean difference of output %s %s",
                                i, expected.get(i).shape())
                        .isLessThan(2e-6);
            }
        }
    }

    /** From where the tanh in it is nearly linear to where it is 1, with neighbours that join in its loop. */
    @Test
    void theGradientOfReluInBothDirections() {
        ArrayShape shape = ArrayShape.of(DType.F32, 24, 1000);
        for (boolean above : List.of(true, false)) {
            Computation computation = Check.build(List.of(shape, shape), (b, p) -> {
                Instruction x = p.get(0);
                Instruction zeros = b.zeros(shape);
                Instruction test =
                        above ? b.compare(x, zeros, Compare.Direction.GT) : b.compare(zeros, x, Compare.Direction.LT);
                return b.tuple(b.select(test, p.get(1), zeros));
            });
            Random random = new Random(8);
            double[] x = new double[24 * 1000];
            Arrays.setAll(x, i -> i % 5 == 0 ? 0.0 : i % 7 == 0 ? -0.0 : random.nextGaussian());
            List<Literal> inputs = List.of(Literal.ofDoubles(shape, x), Check.random(shape, random));
            TorchOptions options = TorchOptions.of(MEMORY);
            try (TorchProgram fused = TorchProgram.compile(computation, options);
                    TorchProgram plain = TorchProgram.compile(computation, options.withFuse(false))) {
                assertThat(fused.stepCount()).isEqualTo(1);
                assertThat(fused.runLiterals(inputs)).isEqualTo(plain.runLiterals(inputs));
            }
        }
    }

    @Test
    void aTestAgainstAnotherNumberStaysASelect() {
        ArrayShape shape = ArrayShape.of(DType.F32, 9, 1000);
        Computation computation = Check.build(List.of(shape, shape), (b, p) -> {
            Instruction test = b.compare(p.get(0), b.zeros(shape), Compare.Direction.GE);
            Instruction other = b.compare(p.get(0), b.full(shape, 1), Compare.Direction.GT);
            return b.tuple(b.select(test, p.get(1), b.zeros(shape)), b.select(other, p.get(1), b.zeros(shape)));
        });
        Random random = new Random(9);
        List<Literal> inputs = List.of(Literal.ofDoubles(shape, new double[9000]), Check.random(shape, random));
        TorchOptions options = TorchOptions.of(MEMORY);
        try (TorchProgram fused = TorchProgram.compile(computation, options);
                TorchProgram plain = TorchProgram.compile(computation, options.withFuse(false))) {
            assertThat(fused.runLiterals(inputs)).isEqualTo(plain.runLiterals(inputs));
        }
    }

    @Test
    void geluAndItsGradient() {
        ArrayShape shape = ArrayShape.of(DType.F32, 24, 1000);
        double k1 = 2 * Math.sqrt(2 / Math.PI);
        Computation computation = Check.build(List.of(shape, shape), (b, p) -> {
            Instruction x = b.mul(p.get(0), 3);
            Instruction g = p.get(1);
            Instruction cubic = b.mul(b.mul(x, x), k1 * 0.044715);
            Instruction s = b.logistic(b.mul(x, b.add(cubic, k1)));
            Instruction y = b.mul(x, s);
            Instruction slope = b.add(s, b.mul(b.sub(y, b.mul(y, s)), b.add(b.mul(cubic, 3), k1)));
            return b.tuple(b.add(y, g), b.mul(g, slope));
        });
        Random random = new Random(7);
        List<Literal> inputs = List.of(Check.random(shape, random), Check.random(shape, random));
        TorchOptions options = TorchOptions.of(MEMORY);
        try (TorchProgram fused = TorchProgram.compile(computation, options);
                TorchProgram plain = TorchProgram.compile(computation, options.withFuse(false))) {
            assertThat(fused.stepCount()).isEqualTo(1);
            List<Literal> expected = plain.runLiterals(inputs);
            List<Literal> actual = fused.runLiterals(inputs);
            for (int i = 0; i < expected.size(); i++) {
                for (int j = 0; j < expected.get(i).size(); j++) {
                    double e = expected.get(i).asDouble(j);
                    // Where tanh comes close to 1, what the gradient takes from the difference has an error of some
                    // 1e-6 of x.
                    assertThat(actual.get(i).asDouble(j))
                            .isCloseTo(e, org.assertj.core.api.Assertions.within(1e-5 * Math.max(1, Math.abs(e))));
                }
            }
        }
    }
}
