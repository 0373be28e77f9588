package dev.drover.ir.ops;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.ir.eval.Evaluator;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.ComputationBuilder;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.text.HloReader;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.assertj.core.data.Offset;
import org.jspecify.annotations.Nullable;

/**
 * Gradient rules against finite differences. For the root op of a computation whose f64, f32 or complex operands are parameters: with random
 * cotangents c of the result's leaves, the cotangent that the rule gives for each such operand leaf, times a random direction,
 * must be the change of {@code sum(result * c)} in that direction. Each parameter must be used once. Complex leaves pair as {@code Re(c * z)}.
 */
final class GradientChecks {
    private static final double STEP = 1e-5;
    private static final double TOLERANCE = 1e-6;

    private GradientChecks() {}

    /** Checks the root of an HLO text's entry at random values of both signs. */
    static void checkRoot(String hlo, long seed) {
        Computation computation = HloReader.read("test", hlo).entry();
        Random random = new Random(seed);
        checkRoot(computation, randomArguments(computation, random), random);
    }

    /** Checks the root of an HLO text's entry at random positive values. */
    static void checkRootAtPositive(String hlo, long seed) {
        Computation computation = HloReader.read("test", hlo).entry();
        Random random = new Random(seed);
        List<Value> arguments = randomArguments(computation, random);
        for (Value argument : arguments) {
            double[] values = argument.literal().doubles();
            Arrays.setAll(values, i -> Math.abs(values[i]));
        }
        checkRoot(computation, arguments, random);
    }

    private static List<Value> randomArguments(Computation computation, Random random) {
        List<Value> arguments = new ArrayList<>();
        for (Instruction parameter : computation.parameters()) {
            arguments.add(RandomValues.of(parameter.shape(), random));
        }
        return arguments;
    }

    static void checkRoot(Computation computation, List<Value> arguments, Random random) {
        ComputationBuilder builder = new ComputationBuilder("gradient");
        List<Instruction> copies = new ArrayList<>();
        for (Instruction instruction : computation.instructions()) {
            copies.add(builder.add(
                    instruction.op(),
                    instruction.operands().stream().map(o -> copies.get(o.id())).toList()));
        }
        Instruction self = copies.get(computation.root().id());
        List<@Nullable Instruction> cotangents = new ArrayList<>();
        List<Literal> weights = new ArrayList<>();
        for (ArrayShape leaf : self.shape().leaves()) {
            boolean smooth = leaf.dtype().isFloat() || leaf.dtype().isComplex();
            Literal weight = smooth ? RandomValues.literal(leaf, random) : Literal.zeros(leaf);
            weights.add(weight);
            cotangents.add(smooth ? builder.add(Constant.of(weight)) : null);
        }
        List<@Nullable Instruction> gradients = self.op().vjp(() -> new OpBuilder(builder), self, cotangents);
        assertThat(gradients)
                .as("cotangents of the operand leaves of %s", self)
                .hasSize(self.operands().stream()
                        .mapToInt(o -> o.shape().leaves().size())
                        .sum());
        List<Instruction> given = new ArrayList<>();
        for (Instruction gradient : gradients) {
            if (gradient != null) {
                given.add(gradient);
            }
        }
        Instruction all = builder.add(new Tuple(given.size()), given);
        List<Literal> values = new ArrayList<>();
        collect(Evaluator.evaluate(builder.build(all), arguments), values);
        int leaf = 0;
        int next = 0;
        int checked = 0;
        for (Instruction operand : self.operands()) {
            for (ArrayShape shape : operand.shape().leaves()) {
                Instruction gradient = gradients.get(leaf++);
                Literal got = gradient == null ? Literal.zeros(shape) : values.get(next++);
                assertThat(got.shape())
                        .as("cotangent of %s of %s", operand, self)
                        .isEqualTo(shape);
                int parameter = operand.op() instanceof Parameter p ? p.number() : -1;
                boolean real = shape.dtype() == DType.F64
                        || shape.dtype() == DType.F32
                        || shape.dtype().isComplex();
                if (parameter >= 0 && real && operand.shape() instanceof ArrayShape) {
                    check(computation, arguments, parameter, got, weights, random, self.toString());
                    checked++;
                }
            }
        }
        assertThat(checked).as("operands of %s that were checked", self).isPositive();
    }

    private static void check(
            Computation computation,
            List<Value> arguments,
            int parameter,
            Literal gradient,
            List<Literal> weights,
            Random random,
            String label) {
        Literal at = arguments.get(parameter).literal();
        // f32's precision: larger steps, wider tolerance.
        boolean narrow = at.dtype() != DType.F64;
        double step = narrow ? 1e-2 : STEP;
        for (int trial = 0; trial < 3; trial++) {
            double[] direction = new double[at.doubles().length];
            Arrays.setAll(direction, i -> random.nextGaussian());
            double expected = (loss(computation, arguments, parameter, direction, step, weights)
                            - loss(computation, arguments, parameter, direction, -step, weights))
                    / (2 * step);
            double actual = 0;
            for (int i = 0; i < direction.length; i++) {
                // Re(g z) = re re - im im
                double sign = at.dtype().isComplex() && i % 2 == 1 ? -1 : 1;
                actual += sign * gradient.doubles()[i] * direction[i];
            }
            assertThat(actual)
                    .as("gradient of %s in parameter %s", label, parameter)
                    .isCloseTo(expected, Offset.offset((narrow ? 1e-2 : TOLERANCE) * (1 + Math.abs(expected))));
        }
    }

    private static double loss(
            Computation computation,
            List<Value> arguments,
            int parameter,
            double[] direction,
            double step,
            List<Literal> weights) {
        List<Value> moved = new ArrayList<>(arguments);
        Literal at = arguments.get(parameter).literal();
        double[] values = at.doubles().clone();
        for (int i = 0; i < values.length; i++) {
            values[i] += step * direction[i];
        }
        moved.set(parameter, Literal.ofDoubles(at.shape(), values));
        double sum = 0;
        List<Literal> leaves = new ArrayList<>();
        collect(Evaluator.evaluate(computation, moved), leaves);
        for (int leaf = 0; leaf < leaves.size(); leaf++) {
            Literal result = leaves.get(leaf);
            double[] weight = weights.get(leaf).doubles();
            for (int i = 0; i < weight.length; i++) {
                double sign = result.dtype().isComplex() && i % 2 == 1 ? -1 : 1;
                sum += sign * weight[i] * result.doubles()[i];
            }
        }
        return sum;
    }

    private static void collect(Value value, List<Literal> leaves) {
        if (value instanceof Literal literal) {
            leaves.add(literal);
        } else if (value instanceof Value.Tuple tuple) {
            tuple.elements().forEach(element -> collect(element, leaves));
        }
    }
}
