package dev.drover.ir.ops;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.drover.ir.eval.Evaluator;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.ComputationBuilder;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.ir.type.Shape;
import dev.drover.ir.type.TupleShape;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.jspecify.annotations.Nullable;

/**
 * Holds an op's gradient rule against central differences in f64. The loss is the sum of the op's f64 results, each element times a
 * random weight; integer operands are held fixed.
 */
final class FiniteDifferences {
    private static final double STEP = 1e-4;
    private static final double TOLERANCE = 1e-6;

    private FiniteDifferences() {}

    private record Context(OpBuilder build) implements VjpContext {}

    /** Operands from the builder's parameters; by default they are the parameters. */
    @FunctionalInterface
    interface Operands {
        List<Instruction> of(OpBuilder build, List<Instruction> parameters);
    }

    static Literal f64(Random random, long... dims) {
        ArrayShape shape = ArrayShape.of(DType.F64, dims);
        return Literal.ofDoubles(shape, random.doubles(shape.elements(), -2, 2).toArray());
    }

    static void check(Op op, Literal... arguments) {
        check(op, (build, parameters) -> parameters, arguments);
    }

    /** With constants as the operands after the arguments. */
    static void checkWithConstant(Op op, Literal constant, Literal... arguments) {
        check(
                op,
                (build, parameters) -> {
                    List<Instruction> operands = new ArrayList<>(parameters);
                    operands.add(build.constant(constant));
                    return operands;
                },
                arguments);
    }

    static void check(Op op, Operands operands, Literal... arguments) {
        List<Literal> inputs = List.of(arguments);
        ComputationBuilder forward = new ComputationBuilder("forward");
        List<Instruction> parameters = parameters(forward, inputs);
        Computation function = forward.build(forward.add(op, operands.of(new OpBuilder(forward), parameters)));
        List<@Nullable Literal> weights = weights(function.root().shape());
        List<@Nullable Literal> gradients = gradients(op, operands, inputs, weights);
        int checked = 0;
        for (int a = 0; a < inputs.size(); a++) {
            if (inputs.get(a).dtype() != DType.F64) {
                continue;
            }
            Literal gradient = gradients.get(a);
            for (int e = 0; e < inputs.get(a).size(); e++) {
                double up = loss(function, inputs, weights, a, e, STEP);
                double down = loss(function, inputs, weights, a, e, -STEP);
                double expected = (up - down) / (2 * STEP);
                assertThat(gradient == null ? 0 : gradient.asDouble(e))
                        .as("%s operand %d element %d", op, a, e)
                        .isEqualTo(expected, within(TOLERANCE * Math.max(1, Math.abs(expected))));
                checked += expected == 0 ? 0 : 1;
            }
        }
        assertThat(checked).as("elements of %s that matter", op).isPositive();
    }

    private static List<Instruction> parameters(ComputationBuilder builder, List<Literal> inputs) {
        List<Instruction> out = new ArrayList<>();
        for (Literal input : inputs) {
            out.add(builder.parameter("x", input.shape()));
        }
        return out;
    }

    private static List<@Nullable Literal> weights(Shape result) {
        Random random = new Random(11);
        List<@Nullable Literal> out = new ArrayList<>();
        for (ArrayShape leaf : result.leaves()) {
            out.add(leaf.dtype() == DType.F64 ? f64(random, leaf.dims()) : null);
        }
        return out;
    }

    /** The rule's cotangents, evaluated; zeros where none flows. */
    private static List<@Nullable Literal> gradients(
            Op op, Operands operands, List<Literal> inputs, List<@Nullable Literal> weights) {
        ComputationBuilder builder = new ComputationBuilder("backward");
        OpBuilder build = new OpBuilder(builder);
        List<Instruction> parameters = parameters(builder, inputs);
        Instruction self = builder.add(op, operands.of(build, parameters));
        List<@Nullable Instruction> cotangents = new ArrayList<>();
        for (Literal weight : weights) {
            cotangents.add(weight == null ? null : build.constant(weight));
        }
        List<@Nullable Instruction> out = op.vjp(new Context(build), self, cotangents);
        assertThat(out).hasSize(self.operands().size());
        List<Instruction> present = new ArrayList<>();
        for (int i = 0; i < inputs.size(); i++) {
            Instruction cotangent = out.get(i);
            Instruction made = cotangent == null ? build.zeros(inputs.get(i).shape()) : cotangent;
            assertThat(made.shape()).isEqualTo(inputs.get(i).shape());
            present.add(made);
        }
        Value value = Evaluator.evaluate(builder.build(build.tuple(present)), inputs);
        List<@Nullable Literal> literals = new ArrayList<>();
        for (int i = 0; i < inputs.size(); i++) {
            literals.add(Apply.element(value, i));
        }
        return literals;
    }

    private static double loss(
            Computation function,
            List<Literal> inputs,
            List<@Nullable Literal> weights,
            int argument,
            int element,
            double step) {
        List<Literal> moved = new ArrayList<>(inputs);
        Literal changed = Folds.copy(inputs.get(argument));
        changed.doubles()[element] += step;
        moved.set(argument, changed);
        Value result = Evaluator.evaluate(function, moved);
        double sum = 0;
        for (int leaf = 0; leaf < weights.size(); leaf++) {
            Literal weight = weights.get(leaf);
            if (weight == null) {
                continue;
            }
            Literal y = function.root().shape() instanceof TupleShape ? Apply.element(result, leaf) : result.literal();
            for (int i = 0; i < weight.size(); i++) {
                sum += weight.asDouble(i) * y.asDouble(i);
            }
        }
        return sum;
    }
}
