package dev.drover.ir.ops;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.ComputationBuilder;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.ir.type.Shape;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class ScatterTest {
    private static Literal updates(IndexedCase c, Random random) {
        Shape shape = c.gather().inferShape(List.of(c.arrayShape(DType.F32), c.indexShape()));
        return Apply.random(random, DType.F32, shape.asArray().dims());
    }

    @ParameterizedTest
    @EnumSource
    void addsEachUpdateWhereTheDefinitionSays(IndexedCase c) {
        Random random = new Random(6);
        Literal array = Apply.random(random, DType.F32, c.arrayShape(DType.F32).dims());
        Literal indices = Apply.indices(random, -2, 9, c.indexShape().dims());
        Literal updates = updates(c, random);
        Scatter scatter = new Scatter(c.dims().forScatter(), Reducers.computation(Reduction.SUM, DType.F32));
        Literal result = Apply.literal(scatter, array, indices, updates);
        double[] expected = array.doubles().clone();
        int dropped = 0;
        for (int i = 0; i < updates.size(); i++) {
            long[] at = c.arrayIndex(indices, Apply.index(updates.shape(), i), false);
            boolean inside = true;
            for (int d = 0; d < at.length; d++) {
                inside &= at[d] >= 0 && at[d] < array.shape().dim(d);
            }
            if (inside) {
                expected[Apply.at(array.shape(), at)] += updates.asDouble(i);
            } else {
                dropped++;
            }
        }
        assertThat(result.doubles()).containsExactly(expected);
        assertThat(dropped).isGreaterThan(c == IndexedCase.SINGLE ? -1 : 0);
    }

    /** (x, u) -> u: the last one wins. */
    private static Computation second(DType dtype) {
        ComputationBuilder builder = new ComputationBuilder("second");
        builder.parameter("x", ArrayShape.scalar(dtype));
        return builder.build(builder.parameter("u", ArrayShape.scalar(dtype)));
    }

    @Test
    void keepsTheOrderOfUpdatesForOtherCombiners() {
        Scatter scatter = new Scatter(new ScatterDims(List.of(), List.of(0), List.of(0), 1), second(DType.F32));
        Literal result = Apply.literal(
                scatter,
                Apply.f32(Apply.dims(4), 1, 2, 3, 4),
                Apply.s32(Apply.dims(3, 1), 2, 0, 2),
                Apply.f32(Apply.dims(3), 10, 20, 30));
        assertThat(result.doubles()).containsExactly(20, 2, 30, 4);
        assertThat(scatter.reduction()).isNull();
    }

    @Test
    void takesSeveralArrays() {
        ComputationBuilder builder = new ComputationBuilder("both");
        Instruction x = builder.parameter("x", ArrayShape.scalar(DType.F32));
        Instruction n = builder.parameter("n", ArrayShape.scalar(DType.S32));
        Instruction u = builder.parameter("u", ArrayShape.scalar(DType.F32));
        Instruction m = builder.parameter("m", ArrayShape.scalar(DType.S32));
        Instruction sum = builder.add(Reducers.op(Reduction.SUM, ArrayShape.scalar(DType.F32)), x, u);
        Instruction max = builder.add(Reducers.op(Reduction.MAX, ArrayShape.scalar(DType.S32)), n, m);
        Computation both = builder.build(new OpBuilder(builder).tuple(sum, max));
        Value result = Apply.apply(
                new Scatter(new ScatterDims(List.of(), List.of(0), List.of(0), 1), both),
                Apply.f32(Apply.dims(3), 1, 2, 3),
                Apply.s32(Apply.dims(3), 1, 2, 3),
                Apply.s32(Apply.dims(3, 1), 0, 0, 2),
                Apply.f32(Apply.dims(3), 10, 20, 30),
                Apply.s32(Apply.dims(3), -1, 7, 2));
        assertThat(Apply.element(result, 0).doubles()).containsExactly(31, 2, 33);
        assertThat(Apply.element(result, 1).longs()).containsExactly(7, 2, 3);
    }

    @Test
    void factorsOfAnAddAndOfAnOverwrite() {
        IndexedCase c = IndexedCase.ROWS;
        Random random = new Random(6);
        List<Shape> operands = List.of(
                c.arrayShape(DType.F32), c.indexShape(), updates(c, random).shape());
        Scatter add = new Scatter(c.dims().forScatter(), Reducers.computation(Reduction.SUM, DType.F32));
        assertThat(add.factors(operands, operands.get(0)).toString())
                .isEqualTo("(a b, c d, c d b) -> a b; c reduction sum; d reduction sum");
        Scatter overwrite = new Scatter(c.dims().forScatter(), second(DType.F32));
        assertThat(overwrite.factors(operands, operands.get(0)).toString())
                .isEqualTo("(a b, c d, c d b) -> a b; c whole; d whole");
        assertThat(add.linearGroups()).containsExactly(java.util.Set.of(0, 2));
    }
}
