package dev.drover.ir.ops;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.ir.eval.Literal;
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
import org.junit.jupiter.params.provider.CsvSource;

class WindowOpsTest {
    private static final double LOW = Double.NEGATIVE_INFINITY;

    @Test
    void cumulativeSum() {
        ReduceWindow op =
                new ReduceWindow(Window.parse("{size=4 pad=3_0}"), Reducers.computation(Reduction.SUM, DType.F32));
        assertThat(Apply.literal(op, Apply.f32(Apply.dims(4), 1, 2, 3, 4), Literal.scalar(DType.F32, 0))
                        .doubles())
                .containsExactly(1, 3, 6, 10);
    }

    /** Against a sum over all pairs of an input element and a window element. */
    @ParameterizedTest
    @CsvSource(
            delimiter = ';',
            value = {
                "{size=2x3 stride=1x2 pad=1_0x0_1}; 4,5",
                "{size=2x2 pad=0_1x1_1 lhs_dilate=2x1 rhs_dilate=1x2}; 3,4",
                "{size=3x1 stride=2x2 pad=-1_2x0_0}; 6,5",
            })
    void sumsEachWindow(String text, String dimsText) {
        Window window = Window.parse(text);
        long[] dims = List.of(dimsText.split(",", -1)).stream()
                .mapToLong(Long::parseLong)
                .toArray();
        Literal x = Apply.random(new Random(4), DType.F32, dims);
        Literal y = Apply.literal(
                new ReduceWindow(window, Reducers.computation(Reduction.SUM, DType.F32)),
                x,
                Literal.scalar(DType.F32, 0.5));
        double[] expected = new double[y.size()];
        java.util.Arrays.fill(expected, 0.5);
        for (int i = 0; i < x.size(); i++) {
            long[] in = Apply.index(x.shape(), i);
            for (long t0 = 0; t0 < window.dim(0).size(); t0++) {
                for (long t1 = 0; t1 < window.dim(1).size(); t1++) {
                    long[] taps = {t0, t1};
                    long[] out = new long[2];
                    boolean real = true;
                    for (int d = 0; d < 2; d++) {
                        Window.Dim w = window.dim(d);
                        long left = in[d] * w.baseDilation() + w.padLow() - taps[d] * w.windowDilation();
                        out[d] = left / w.stride();
                        real &= left >= 0
                                && left % w.stride() == 0
                                && out[d] < y.shape().dim(d);
                    }
                    if (real) {
                        expected[Apply.at(y.shape(), out)] += x.asDouble(i);
                    }
                }
            }
        }
        assertThat(y.doubles()).containsExactly(expected);
    }

    private static Computation greaterOrEqual() {
        ComputationBuilder builder = new ComputationBuilder("ge");
        Instruction x = builder.parameter("x", ArrayShape.scalar(DType.F32));
        Instruction y = builder.parameter("y", ArrayShape.scalar(DType.F32));
        return builder.build(builder.add(new Compare(Compare.Direction.GE), x, y));
    }

    /** XLA's own example: windows of 3 with stride 2 that overlap, and ties go to the earlier element. */
    @Test
    void selectsAndScatters() {
        SelectAndScatter op = new SelectAndScatter(
                Window.parse("{size=3 stride=2 pad=1_0}"),
                greaterOrEqual(),
                Reducers.computation(Reduction.SUM, DType.F32));
        Literal x = Apply.f32(Apply.dims(6), 2, 5, 5, 1, 5, 0);
        // windows {_,0,1} {1,2,3} {3,4,5} choose 1, 1 (a tie with 2), 4
        Literal y = Apply.literal(op, x, Apply.f32(Apply.dims(3), 10, 20, 40), Literal.scalar(DType.F32, 1));
        assertThat(y.doubles()).containsExactly(1, 31, 1, 1, 41, 1);
    }

    @Test
    void windowMaximum() {
        ReduceWindow op = new ReduceWindow(
                Window.parse("{size=1x2x2 stride=1x2x1}"), Reducers.computation(Reduction.MAX, DType.F32));
        Literal x = Apply.f32(Apply.dims(1, 2, 3), 1, 9, 2, 4, 3, 8);
        assertThat(Apply.literal(op, x, Literal.scalar(DType.F32, LOW)).doubles())
                .containsExactly(9, 9);
        List<Shape> operands = List.of(ArrayShape.of(DType.F32, 6, 4, 3), ArrayShape.scalar(DType.F32));
        assertThat(op.factors(operands, op.inferShape(operands)).toString())
                .isEqualTo("(a b c, .) -> a b c; b window; c window");
    }
}
