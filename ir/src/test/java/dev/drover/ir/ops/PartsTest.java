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
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Parts of contractions, windows, indexed access and sorting, put together again. */
class PartsTest {
    private final Random random = new Random(12);

    private void check(Op op, Literal... operands) {
        List<Shape> shapes = Arrays.stream(operands).map(o -> (Shape) o.shape()).toList();
        Instruction whole = Apply.computation(op, shapes).root();
        List<Value> values = List.of(operands);
        LocalizeChecks.check(whole, values, random);
    }

    private Literal f32(long... dims) {
        return Apply.random(random, DType.F32, dims);
    }

    private static long[] longs(String list) {
        return List.of(list.split(",", -1)).stream().mapToLong(Long::parseLong).toArray();
    }

    @Test
    void dot() {
        check(Dot.contracting(1, 0, DType.F32), f32(4, 6), f32(6, 3));
        check(
                new Dot(List.of(3, 1), List.of(0, 3), List.of(4, 0), List.of(1, 4), DType.F32),
                f32(2, 3, 4, 2, 6),
                f32(2, 6, 2, 3, 2));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = ';',
            value = {
                "{size=3x3 pad=1_1x1_1}; b01f_01io->b01f; 4,5,6,6; 3,3,6,4; 1; 1",
                "{size=1x1}; b01f_01io->b01f; 2,4,6,4; 1,1,4,6; 1; 1",
                "{size=4x4 pad=1_1x1_1}; f01b_i01o->01bf; 4,4,4,6; 4,4,4,2; 1; 1",
                "{size=3x1 pad=1_1x0_0}; b01f_01io->b01f; 2,4,6,12; 3,1,3,8; 4; 1",
                "{size=2}; b0f_0io->b0f; 12,4,4; 2,4,8; 1; 4",
            })
    void convolution(String window, String labels, String input, String kernel, long featureGroups, long batchGroups) {
        Convolution conv =
                new Convolution(Window.parse(window), ConvDims.parse(labels), featureGroups, batchGroups, DType.F32);
        check(conv, f32(longs(input)), f32(longs(kernel)));
    }

    /** The initial value is not neutral: it must count once. */
    @ParameterizedTest
    @EnumSource(names = {"SUM", "PROD", "MIN", "MAX"})
    void reduceWithAnInitialValue(Reduction reduction) {
        for (DType dtype : List.of(DType.F32, DType.S32)) {
            check(
                    new Reduce(List.of(0, 2), Reducers.computation(reduction, dtype)),
                    Apply.random(random, dtype, 2, 3, 4),
                    Literal.scalar(dtype, 3));
        }
    }

    @Test
    void logicalReductions() {
        Literal flags = Literal.ofLongs(ArrayShape.of(DType.PRED, 4, 2), new long[] {1, 1, 0, 1, 1, 1, 0, 1});
        check(
                new Reduce(List.of(0), Reducers.computation(Reduction.AND, DType.PRED)),
                flags,
                Literal.scalar(DType.PRED, 1));
        check(
                new Reduce(List.of(0), Reducers.computation(Reduction.OR, DType.PRED)),
                flags,
                Literal.scalar(DType.PRED, 0));
    }

    @Test
    void windows() {
        Computation sum = Reducers.computation(Reduction.SUM, DType.F32);
        check(
                new ReduceWindow(Window.parse("{size=1x2x1 stride=1x2x1}"), sum),
                f32(4, 6, 2),
                Literal.scalar(DType.F32, 0.5));
        ComputationBuilder builder = new ComputationBuilder("ge");
        Instruction x = builder.parameter("x", ArrayShape.scalar(DType.F32));
        Instruction y = builder.parameter("y", ArrayShape.scalar(DType.F32));
        Computation ge = builder.build(builder.add(new Compare(Compare.Direction.GE), x, y));
        check(
                new SelectAndScatter(Window.parse("{size=1x2x1 stride=1x2x1}"), ge, sum),
                f32(4, 6, 2),
                f32(4, 3, 2),
                Literal.scalar(DType.F32, 0.5));
    }

    /** Indices are also outside, and index types are also unsigned. */
    @ParameterizedTest
    @EnumSource
    void gather(IndexedCase c) {
        Literal array = f32(c.arrayShape(DType.F32).dims());
        Literal indices = Apply.indices(random, -3, 12, c.indexShape().dims());
        check(c.gather(), array, indices);
        Literal unsigned = Literal.ofLongs(
                c.indexShape().withDType(DType.U8),
                Arrays.stream(indices.longs()).map(Math::abs).toArray());
        check(c.gather(), array, unsigned);
        Literal flags = Literal.ofLongs(
                c.arrayShape(DType.PRED), random.longs(array.size(), 0, 2).toArray());
        check(c.gather(), flags, indices);
    }

    @ParameterizedTest
    @EnumSource
    void scatter(IndexedCase c) {
        Literal array = f32(c.arrayShape(DType.F32).dims());
        Literal indices = Apply.indices(random, -2, 9, c.indexShape().dims());
        Shape updates = c.gather().inferShape(List.of(array.shape(), c.indexShape()));
        for (Reduction reduction : List.of(Reduction.SUM, Reduction.PROD, Reduction.MAX)) {
            check(
                    new Scatter(c.dims().forScatter(), Reducers.computation(reduction, DType.F32)),
                    array,
                    indices,
                    f32(updates.asArray().dims()));
        }
        ComputationBuilder builder = new ComputationBuilder("second");
        builder.parameter("x", ArrayShape.scalar(DType.F32));
        Computation second = builder.build(builder.parameter("u", ArrayShape.scalar(DType.F32)));
        check(
                new Scatter(c.dims().forScatter(), second),
                array,
                indices,
                f32(updates.asArray().dims()));
    }

    @Test
    void sortAndTopK() {
        ComputationBuilder builder = new ComputationBuilder("less");
        Instruction x = builder.parameter("x", ArrayShape.scalar(DType.F32));
        Instruction y = builder.parameter("y", ArrayShape.scalar(DType.F32));
        Computation less = builder.build(builder.add(new Compare(Compare.Direction.LT), x, y));
        check(new Sort(1, true, less), f32(4, 5, 2));
        check(new TopK(2, true), f32(4, 2, 5));
    }

    @Test
    void normsAndMarks() {
        check(new BatchNormTraining(0.1, 1), f32(2, 4, 3), f32(4), f32(4));
        check(new BatchNormInference(0.1, 1), f32(2, 4, 3), f32(4), f32(4), f32(4), positive(4));
        check(new BatchNormGrad(0.1, 1), f32(2, 4, 3), f32(4), f32(4), positive(4), f32(2, 4, 3));
        check(new CustomCall("Sharding", ArrayShape.of(DType.F32, 4, 2), Map.of(), null, List.of()), f32(4, 2));
        check(new ElementMap(List.of(0, 1), Reducers.computation(Reduction.SUM, DType.F32)), f32(4, 2), f32(4, 2));
    }

    private Literal positive(long... dims) {
        Literal x = f32(dims);
        return Literal.ofDoubles(
                x.shape(), Arrays.stream(x.doubles()).map(v -> Math.abs(v) + 1).toArray());
    }

    @Test
    void cutsOfAReductionAreOffered() {
        Reduce sum = new Reduce(List.of(0), Reducers.computation(Reduction.SUM, DType.F32));
        FactorRule rule = sum.factors(
                List.of(ArrayShape.of(DType.F32, 6), ArrayShape.scalar(DType.F32)), ArrayShape.scalar(DType.F32));
        assertThat(rule.factors().get(0).cutsInto(3)).isTrue();
    }
}
