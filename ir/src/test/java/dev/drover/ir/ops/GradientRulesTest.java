package dev.drover.ir.ops;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.drover.ir.eval.Literal;
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

/** Gradients of contractions, windows, indexed access and sorting against finite differences. */
class GradientRulesTest {
    private final Random random = new Random(10);

    private void check(Op op, Literal... arguments) {
        List<Shape> shapes =
                Arrays.stream(arguments).map(a -> (Shape) a.shape()).toList();
        GradientChecks.checkRoot(Apply.computation(op, shapes), List.of(arguments), random);
    }

    /** With a constant as the operand after the argument. */
    private void checkWithConstant(Op op, Literal constant, Literal argument) {
        ComputationBuilder builder = new ComputationBuilder("with_constant");
        Instruction parameter = builder.parameter("x", argument.shape());
        Instruction after = new OpBuilder(builder).constant(constant);
        GradientChecks.checkRoot(builder.build(builder.add(op, parameter, after)), List.of(argument), random);
    }

    private Literal f64(long... dims) {
        return Apply.f64(random, dims);
    }

    private static long[] longs(String list) {
        return List.of(list.split(",", -1)).stream().mapToLong(Long::parseLong).toArray();
    }

    private static Computation sum() {
        return Reducers.computation(Reduction.SUM, DType.F64);
    }

    private static Literal zero() {
        return Literal.scalar(DType.F64, 0);
    }

    @Test
    void dot() {
        check(Dot.contracting(1, 0, DType.F64), f64(2, 3), f64(3, 4));
        Dot general = new Dot(List.of(3, 1), List.of(0, 3), List.of(4, 0), List.of(1, 4), DType.F64);
        check(general, f64(2, 3, 2, 1, 3), f64(1, 3, 2, 3, 2));
        // contracting dims that are not in order on the right
        Dot crossed = new Dot(List.of(), List.of(), List.of(0, 1), List.of(2, 0), DType.F64);
        check(crossed, f64(2, 3, 4), f64(3, 5, 2));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = ';',
            value = {
                "{size=3x2 pad=1_1x0_1}; b01f_01io->b01f; 2,3,4,2; 3,2,2,3; 1; 1",
                "{size=3x3 stride=2x1 pad=0_1x1_0}; bf01_oi01->bf01; 2,2,5,4; 3,2,3,3; 1; 1",
                "{size=3x2 pad=2_1x2_2 lhs_dilate=2x3}; b01f_01oi->b01f; 1,3,2,2; 3,2,2,2; 1; 1",
                "{size=2x3 pad=0_-1x-1_0 rhs_dilate=2x2}; f01b_i01o->01bf; 3,6,8,2; 3,2,3,2; 1; 1",
                "{size=2x3 rhs_reversal=1x0}; fb01_io01->01bf; 3,2,4,5; 3,2,2,3; 1; 1",
                "{size=3x2 pad=1_1x0_0 rhs_reversal=1x1}; b01f_01io->b01f; 2,4,3,4; 3,2,2,6; 2; 1",
                "{size=2 stride=2 pad=1_0}; b0f_0io->b0f; 6,5,2; 2,2,6; 1; 3",
                "{size=3 stride=2 pad=1_2 rhs_dilate=2 lhs_dilate=1}; 0bf_i0o->f0b; 7,2,4; 1,3,4; 4; 1",
                "{size=2}; b0f_0io->b0f; 2,5,6; 2,2,3; 3; 1",
            })
    void convolution(String window, String labels, String input, String kernel, long featureGroups, long batchGroups) {
        Convolution conv =
                new Convolution(Window.parse(window), ConvDims.parse(labels), featureGroups, batchGroups, DType.F64);
        check(conv, f64(longs(input)), f64(longs(kernel)));
    }

    @Test
    void reduce() {
        check(new Reduce(List.of(0, 2), sum()), f64(2, 3, 4), f64());
        checkWithConstant(new Reduce(List.of(1), sum()), zero(), f64(3, 4));
        Computation max = Reducers.computation(Reduction.MAX, DType.F64);
        Computation min = Reducers.computation(Reduction.MIN, DType.F64);
        checkWithConstant(
                new Reduce(List.of(0, 1), max), Literal.scalar(DType.F64, Double.NEGATIVE_INFINITY), f64(3, 4, 2));
        checkWithConstant(new Reduce(List.of(1), min), Literal.scalar(DType.F64, Double.POSITIVE_INFINITY), f64(3, 4));
    }

    /** Two elements are the largest: each gets half, as in JAX. */
    @Test
    void equalMaximaShareTheGradient() {
        ComputationBuilder builder = new ComputationBuilder("ties");
        OpBuilder build = new OpBuilder(builder);
        Instruction x = build.constant(Literal.ofDoubles(ArrayShape.of(DType.F64, 4), new double[] {3, 1, 3, 2}));
        Instruction low = build.constant(DType.F64, -10);
        Instruction y = builder.add(new Reduce(List.of(0), Reducers.computation(Reduction.MAX, DType.F64)), x, low);
        Instruction dx = y.op().vjp(() -> build, y, List.of(build.constant(DType.F64, 8)))
                .get(0);
        assertThat(dx).isNotNull();
        Literal value = dev.drover.ir.eval.Evaluator.evaluate(
                        builder.build(java.util.Objects.requireNonNull(dx)), List.of())
                .literal();
        assertThat(value.doubles()).containsExactly(4, 0, 4, 0);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = ';',
            value = {
                "{size=2x3 stride=1x2 pad=1_0x0_1}; 4,5",
                "{size=4x1 pad=3_0x0_0}; 4,3",
                "{size=2x2 pad=0_1x1_1 lhs_dilate=2x1 rhs_dilate=1x2}; 3,4",
            })
    void windowSum(String window, String dims) {
        checkWithConstant(new ReduceWindow(Window.parse(window), sum()), zero(), f64(longs(dims)));
    }

    @Test
    void windowMaximum() {
        Computation max = Reducers.computation(Reduction.MAX, DType.F64);
        checkWithConstant(
                new ReduceWindow(Window.parse("{size=1x3x2 stride=1x2x2 pad=0_0x1_1x0_0}"), max),
                Literal.scalar(DType.F64, Double.NEGATIVE_INFINITY),
                f64(2, 5, 4));
    }

    @ParameterizedTest
    @EnumSource
    void gather(IndexedCase c) {
        Literal indices = Apply.indices(random, -3, 12, c.indexShape().dims());
        check(c.gather(), f64(c.arrayShape(DType.F64).dims()), indices);
    }

    /** Some indices are outside, some windows partly: what is dropped has no gradient. */
    @ParameterizedTest
    @EnumSource
    void scatterAdd(IndexedCase c) {
        Literal indices = Apply.indices(random, -2, 9, c.indexShape().dims());
        Shape updates = c.gather().inferShape(List.of(c.arrayShape(DType.F64), c.indexShape()));
        check(
                new Scatter(c.dims().forScatter(), sum()),
                f64(c.arrayShape(DType.F64).dims()),
                indices,
                f64(updates.asArray().dims()));
    }

    @Test
    void sort() {
        ComputationBuilder builder = new ComputationBuilder("descending");
        Instruction x0 = builder.parameter("x0", ArrayShape.scalar(DType.F64));
        Instruction y0 = builder.parameter("y0", ArrayShape.scalar(DType.F64));
        builder.parameter("x1", ArrayShape.scalar(DType.F64));
        builder.parameter("y1", ArrayShape.scalar(DType.F64));
        Computation descending = builder.build(builder.add(new Compare(Compare.Direction.GT), x0, y0));
        check(new Sort(1, false, descending), f64(2, 5, 3), f64(2, 5, 3));
    }

    @Test
    void topK() {
        check(new TopK(2, true), f64(3, 2, 5));
        check(new TopK(3, false), f64(4));
    }

    @Test
    void marksPassGradients() {
        check(new CustomCall("Sharding", ArrayShape.of(DType.F64, 3), Map.of(), null, List.of()), f64(3));
    }

    @Test
    void refusesByName() {
        ComputationBuilder builder = new ComputationBuilder("refused");
        OpBuilder build = new OpBuilder(builder);
        Instruction x = build.parameter("x", ArrayShape.of(DType.F64, 3));
        Instruction one = build.constant(DType.F64, 1);
        Instruction product = builder.add(
                new Reduce(List.of(0), Reducers.computation(Reduction.PROD, DType.F64)),
                List.of(x, one),
                "product",
                Map.of());
        assertThatThrownBy(() -> product.op().vjp(() -> build, product, List.of(one)))
                .isInstanceOf(NoGradientException.class)
                .hasMessage("The reduction (PROD) of reduce (product) must be a sum, or a minimum or maximum with a"
                        + " constant initial value, to have a gradient.");
    }
}
