package dev.drover.ir.grad;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.drover.ir.UserError;
import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Evaluator;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.ComputationBuilder;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.Op;
import dev.drover.ir.ops.OpBuilder;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.ir.type.Shape;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

final class GradientsTest {
    private static final ArrayShape VECTOR = ArrayShape.of(DType.F64, 3);
    private final ComputationBuilder builder = new ComputationBuilder("f");
    private final OpBuilder ops = new OpBuilder(builder);
    private final Gradients gradients = new Gradients(builder);

    private double[] evaluate(Instruction result, double[]... arguments) {
        Computation computation = builder.build(result);
        List<Value> values = new ArrayList<>();
        for (double[] argument : arguments) {
            values.add(Literal.ofDoubles(ArrayShape.of(DType.F64, argument.length), argument));
        }
        return Evaluator.evaluate(computation, values).literal().doubles();
    }

    @Test
    void cotangentsOfAllUsesAreSummed() {
        Instruction x = builder.parameter("x", VECTOR);
        Instruction cube = ops.mul(ops.mul(x, x), x);
        Instruction loss = ops.sumAll(ops.add(cube, x));
        Instruction gradient = gradients.of(loss, List.of(x)).get(0);
        assertThat(evaluate(gradient, new double[] {1, -2, 0.5})).containsExactly(4, 13, 1.75);
    }

    @Test
    void aVariableOffThePathHasAZeroGradient() {
        Instruction x = builder.parameter("x", VECTOR);
        Instruction y = builder.parameter("y", VECTOR);
        ops.mul(x, y);
        Instruction gradient =
                gradients.of(ops.sumAll(ops.mul(x, x)), List.of(x, y)).get(1);
        assertThat(evaluate(gradient, new double[] {1, 2, 3}, new double[] {1, 2, 3}))
                .containsExactly(0, 0, 0);
    }

    @Test
    void aVariableMayBeAnyInstructionOfThePath() {
        Instruction x = builder.parameter("x", VECTOR);
        Instruction square = ops.mul(x, x);
        Instruction loss = ops.sumAll(ops.mul(square, ops.add(square, x)));
        List<Instruction> both = gradients.of(loss, List.of(square, x));
        Instruction sum = ops.add(both.get(0), both.get(1));
        // d/d square = 2 x^2 + x, d/dx = 4 x^3 + 3 x^2.
        assertThat(evaluate(sum, new double[] {1, 2, -1})).containsExactly(3 + 7, 10 + 44, 1 - 1);
    }

    @Test
    void aStoppedValueIsAConstant() {
        Instruction x = builder.parameter("x", VECTOR);
        Instruction loss = ops.sumAll(ops.mul(gradients.stop(ops.mul(x, x)), x));
        Instruction gradient = gradients.of(loss, List.of(x)).get(0);
        assertThat(evaluate(gradient, new double[] {1, 2, 3})).containsExactly(1, 4, 9);
    }

    @Test
    void aCompositeUsesItsOwnRule() {
        Instruction x = builder.parameter("x", VECTOR);
        Instruction y = gradients.composite(ops.exp(ops.mul(x, x)), List.of(x), g -> List.of(ops.add(g, g)));
        Instruction gradient = gradients.of(ops.sumAll(y), List.of(x)).get(0);
        assertThat(evaluate(gradient, new double[] {1, 2, 3})).containsExactly(2, 2, 2);
    }

    @Test
    void aWeightGetsItsGradientInItsOwnOrder() {
        Instruction x = builder.parameter("x", ArrayShape.of(DType.F64, 2, 3, 4));
        Instruction w = builder.parameter("w", ArrayShape.of(DType.F64, 4, 5));
        Instruction tied = builder.parameter("tied", ArrayShape.of(DType.F64, 7, 5));
        Instruction y = ops.dot(ops.dense(x, w), tied, List.of(), List.of(), List.of(2), List.of(1));
        List<Instruction> all = gradients.of(ops.sumAll(ops.mul(y, y)), List.of(x, w, tied));
        assertThat(all.stream().map(g -> g.op().opcode())).containsExactly("dot", "dot", "dot");
    }

    @Test
    void integersCarryNothing() {
        Instruction x = builder.parameter("x", VECTOR);
        Instruction rounded = ops.convert(ops.convert(x, DType.S32), DType.F64);
        Instruction gradient =
                gradients.of(ops.sumAll(ops.mul(rounded, x)), List.of(x)).get(0);
        assertThat(evaluate(gradient, new double[] {1.5, 2.5, -3.5})).containsExactly(1, 2, -3);
    }

    @Test
    void theLossMustBeAFloatScalar() {
        Instruction x = builder.parameter("x", VECTOR);
        assertThatThrownBy(() -> gradients.of(x, List.of(x))).hasMessageContaining("must be a float scalar");
    }

    private record Opaque(String opcode) implements Op {
        @Override
        public Shape inferShape(List<Shape> operands) {
            return operands.get(0);
        }

        @Override
        public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
            return operands.get(0);
        }
    }

    @Test
    void allOpsWithoutARuleAreListedAtOnce() {
        Instruction x = builder.parameter("x", VECTOR);
        Instruction far = builder.add(new Opaque("far"), ops.mul(x, x));
        Instruction near = builder.add(new Opaque("near"), ops.exp(far));
        builder.add(new Opaque("beside"), x);
        assertThatThrownBy(() -> gradients.of(ops.sumAll(near), List.of(x)))
                .isInstanceOf(UserError.class)
                .hasMessageContaining("The op (far) of instruction (far) must have a gradient rule.")
                .hasMessageContaining("The op (near)")
                .hasMessageNotContaining("beside");
    }
}
