package dev.drover.ir.ops;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.ComputationBuilder;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class ReduceTest {
    @ParameterizedTest
    @EnumSource(names = {"SUM", "PROD", "MIN", "MAX"})
    void foldsDims(Reduction reduction) {
        for (DType dtype : List.of(DType.F32, DType.S32)) {
            Literal x = Apply.random(new Random(2), dtype, 2, 3, 4, 5);
            Literal init = Literal.scalar(dtype, 3);
            Reduce op = new Reduce(List.of(2, 0), Reducers.computation(reduction, dtype));
            Literal y = Apply.literal(op, x, init);
            assertThat(y.shape()).isEqualTo(ArrayShape.of(dtype, 3, 5));
            for (int b = 0; b < 3; b++) {
                for (int d = 0; d < 5; d++) {
                    double expected = 3;
                    for (int a = 0; a < 2; a++) {
                        for (int c = 0; c < 4; c++) {
                            double v = x.asDouble(((a * 3 + b) * 4 + c) * 5 + d);
                            expected = switch (reduction) {
                                case SUM -> expected + v;
                                case PROD -> expected * v;
                                case MIN -> Math.min(expected, v);
                                default -> Math.max(expected, v);
                            };
                        }
                    }
                    // products of 8 numbers up to 4 fit both types
                    assertThat(y.asDouble(b * 5 + d)).isEqualTo(expected);
                }
            }
        }
    }

    /** (max, where): several operands and a general computation. */
    private static Computation argMax() {
        ComputationBuilder builder = new ComputationBuilder("arg_max");
        OpBuilder build = new OpBuilder(builder);
        Instruction best = build.parameter("best", ArrayShape.scalar(DType.F32));
        Instruction where = build.parameter("where", ArrayShape.scalar(DType.S32));
        Instruction x = build.parameter("x", ArrayShape.scalar(DType.F32));
        Instruction i = build.parameter("i", ArrayShape.scalar(DType.S32));
        Instruction keep = build.compare(best, x, Compare.Direction.GE);
        return builder.build(build.tuple(build.select(keep, best, x), build.select(keep, where, i)));
    }

    @Test
    void takesSeveralOperands() {
        Reduce op = new Reduce(List.of(1), argMax());
        Value result = Apply.apply(
                op,
                Apply.f32(Apply.dims(2, 3), 1, 5, 2, 7, 3, 7),
                Apply.s32(Apply.dims(2, 3), 0, 1, 2, 0, 1, 2),
                Literal.scalar(DType.F32, Double.NEGATIVE_INFINITY),
                Literal.scalar(DType.S32, 0));
        assertThat(Apply.element(result, 0).doubles()).containsExactly(5, 7);
        assertThat(Apply.element(result, 1).longs()).containsExactly(1, 0);
        ArrayShape x = ArrayShape.of(DType.F32, 2, 3);
        List<dev.drover.ir.type.Shape> operands =
                List.of(x, x.withDType(DType.S32), ArrayShape.scalar(DType.F32), ArrayShape.scalar(DType.S32));
        assertThat(op.factors(operands, op.inferShape(operands)).toString())
                .isEqualTo("(a b, a b, ., .) -> a, a; b whole");
    }

    @Test
    void recognisesReducersWithConverts() {
        ComputationBuilder builder = new ComputationBuilder("widened");
        OpBuilder build = new OpBuilder(builder);
        Instruction x = build.parameter("x", ArrayShape.scalar(DType.BF16));
        Instruction y = build.parameter("y", ArrayShape.scalar(DType.BF16));
        Instruction wide = build.add(build.convert(y, DType.F32), build.convert(x, DType.F32));
        assertThat(Reducers.of(builder.build(build.convert(wide, DType.BF16)))).isEqualTo(Reduction.SUM);
        for (Reduction reduction : Reduction.values()) {
            assertThat(Reducers.of(Reducers.computation(reduction, DType.S32))).isEqualTo(reduction);
        }
        assertThat(Reducers.of(argMax())).isNull();
    }

    @Test
    void doesNotTakeDoublingForASum() {
        ComputationBuilder builder = new ComputationBuilder("twice");
        OpBuilder build = new OpBuilder(builder);
        Instruction x = build.parameter("x", ArrayShape.scalar(DType.F32));
        build.parameter("y", ArrayShape.scalar(DType.F32));
        assertThat(Reducers.of(builder.build(build.add(x, x)))).isNull();
    }

    /** An add of whole numbers is not the sum of the floats that they were. */
    @Test
    void doesNotTakeARoundedAddForASum() {
        for (DType narrow : List.of(DType.S32, DType.BF16)) {
            ComputationBuilder builder = new ComputationBuilder("rounded");
            OpBuilder build = new OpBuilder(builder);
            Instruction x = build.convert(build.parameter("x", ArrayShape.scalar(DType.F32)), narrow);
            Instruction y = build.convert(build.parameter("y", ArrayShape.scalar(DType.F32)), narrow);
            assertThat(Reducers.of(builder.build(build.convert(build.add(x, y), DType.F32))))
                    .isNull();
        }
    }

    @Test
    void neutralsChangeNothing() {
        for (DType dtype : List.of(DType.F32, DType.BF16, DType.S8, DType.U8, DType.S64, DType.U64, DType.PRED)) {
            for (Reduction reduction : Reduction.values()) {
                boolean logical = reduction == Reduction.AND || reduction == Reduction.OR;
                if (logical ? dtype.isFloat() : dtype == DType.PRED) {
                    continue;
                }
                Literal one = Literal.scalar(dtype, 1);
                Literal neutral = Reducers.neutral(reduction, dtype);
                Reduce op = new Reduce(List.of(0), Reducers.computation(reduction, dtype));
                assertThat(Apply.literal(op, one.withShape(ArrayShape.of(dtype, 1)), neutral))
                        .as("%s of %s", reduction, dtype)
                        .isEqualTo(one);
            }
        }
    }

    @Test
    void factorsAndLinearity() {
        Reduce sum = new Reduce(List.of(1), Reducers.computation(Reduction.SUM, DType.F32));
        List<dev.drover.ir.type.Shape> operands =
                List.of(ArrayShape.of(DType.F32, 2, 3, 4), ArrayShape.scalar(DType.F32));
        assertThat(sum.factors(operands, sum.inferShape(operands)).toString())
                .isEqualTo("(a b c, .) -> a c; b reduction sum");
        assertThat(sum.linearGroups()).containsExactly(Set.of(0, 1));
        assertThat(new Reduce(List.of(1), Reducers.computation(Reduction.MAX, DType.F32)).linearGroups())
                .isEmpty();
    }

    @Test
    void refusesDimsThatAreNotThere() {
        Reduce sum = new Reduce(List.of(2), Reducers.computation(Reduction.SUM, DType.F32));
        assertThatThrownBy(() -> sum.inferShape(List.of(ArrayShape.of(DType.F32, 2, 3), ArrayShape.scalar(DType.F32))))
                .hasMessage("The dimensions ([2]) of reduce must be distinct dims below 2.");
    }
}
