package dev.drover.ir.ops;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.ir.eval.Literal;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ConvolutionTest {

    /** Forward, backward and odd forms, against the definition written as a sum over everything. */
    @ParameterizedTest
    @CsvSource(
            delimiter = ';',
            value = {
                // window; labels; input; kernel; feature groups; batch groups
                "{size=3x2 pad=1_1x0_1}; b01f_01io->b01f; 2,5,4,3; 3,2,3,4; 1; 1",
                "{size=3x3 stride=2x1 pad=0_1x1_0}; bf01_oi01->bf01; 2,3,5,6; 4,3,3,3; 1; 1",
                "{size=3x3 pad=2_1x2_2 lhs_dilate=2x3}; b01f_01oi->b01f; 1,3,2,4; 3,3,2,4; 1; 1",
                "{size=2x3 pad=0_-1x-1_0 rhs_dilate=2x2}; f01b_i01o->01bf; 3,6,8,4; 3,2,3,5; 1; 1",
                "{size=2x3 rhs_reversal=1x0}; fb01_io01->01bf; 3,2,4,5; 3,4,2,3; 1; 1",
                "{size=3x2 pad=1_1x0_0 rhs_reversal=1x1}; b01f_01io->b01f; 2,4,3,6; 3,2,2,9; 3; 1",
                "{size=2 stride=2 pad=1_0}; b0f_0io->b0f; 6,5,4; 2,4,9; 1; 3",
                "{size=3}; 0bf_i0o->f0b; 7,2,4; 1,3,4; 4; 1",
                "{size=2x1x2 stride=1x2x1 pad=0_0x1_1x0_1}; b012f_012io->b012f; 2,3,4,3,2; 2,1,2,2,3; 1; 1",
            })
    void fitsTheDefinition(
            String window, String labels, String inputDims, String kernelDims, long featureGroups, long batchGroups) {
        Convolution conv =
                new Convolution(Window.parse(window), ConvDims.parse(labels), featureGroups, batchGroups, DType.F32);
        assertThat(conv.window()).hasToString(window);
        assertThat(conv.dims()).hasToString(labels);
        Random random = new Random(3);
        Literal input = Apply.random(random, DType.F32, longs(inputDims));
        Literal kernel = Apply.random(random, DType.F32, longs(kernelDims));
        Literal result = Apply.literal(conv, input, kernel);
        assertThat(result.doubles()).containsExactly(expected(conv, input, kernel, result.shape()));
    }

    private static long[] longs(String list) {
        return List.of(list.split(",", -1)).stream().mapToLong(Long::parseLong).toArray();
    }

    /** Every pair of an input element and a kernel element is added where it belongs. */
    private static double[] expected(Convolution conv, Literal input, Literal kernel, ArrayShape out) {
        ConvDims dims = conv.dims();
        double[] sums = new double[(int) out.elements()];
        long outBatch = out.dim(dims.outputBatch());
        long outFeatures = out.dim(dims.outputFeature());
        for (int i = 0; i < input.size(); i++) {
            long[] in = Apply.index(input.shape(), i);
            for (int k = 0; k < kernel.size(); k++) {
                long[] ker = Apply.index(kernel.shape(), k);
                long feature = ker[dims.kernelOutput()];
                long perGroup = outFeatures / conv.featureGroups();
                if (in[dims.inputFeature()]
                        != feature / perGroup * kernel.shape().dim(dims.kernelInput()) + ker[dims.kernelInput()]) {
                    continue;
                }
                long batchGroup = feature / (outFeatures / conv.batchGroups());
                if (in[dims.inputBatch()] / outBatch != batchGroup) {
                    continue;
                }
                long[] at = new long[out.rank()];
                at[dims.outputBatch()] = in[dims.inputBatch()] % outBatch;
                at[dims.outputFeature()] = feature;
                boolean real = true;
                for (int d = 0; d < dims.spatialRank(); d++) {
                    Window.Dim w = conv.window().dim(d);
                    long tap = ker[dims.kernelSpatial().get(d)];
                    tap = w.reversed() ? w.size() - 1 - tap : tap;
                    // position of the input in the dilated, padded array = output * stride + tap * dilation
                    long left =
                            in[dims.inputSpatial().get(d)] * w.baseDilation() + w.padLow() - tap * w.windowDilation();
                    long output = left / w.stride();
                    int outDim = dims.outputSpatial().get(d);
                    real &= left >= 0 && left % w.stride() == 0 && output < out.dim(outDim);
                    at[outDim] = output;
                }
                if (real) {
                    sums[Apply.at(out, at)] += input.asDouble(i) * kernel.asDouble(k);
                }
            }
        }
        return sums;
    }

    @Test
    void printsWhatIsNotDefault() {
        Convolution conv = new Convolution(
                Window.parse("{size=3x3 pad=1_1x1_1}"), ConvDims.parse("b01f_01io->b01f"), 32, 1, DType.F32);
        assertThat(Apply.printed(conv))
                .isEqualTo("window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, feature_group_count=32");
    }

    @Test
    void factorsFollowTheLabels() {
        ArrayShape input = ArrayShape.of(DType.F32, 8, 14, 15, 6);
        ArrayShape kernel = ArrayShape.of(DType.F32, 3, 1, 3, 10);
        Convolution grouped = new Convolution(
                Window.parse("{size=3x1 pad=1_1x0_0}"), ConvDims.parse("b01f_01io->b01f"), 2, 1, DType.F32);
        ArrayShape out = grouped.inferShape(List.of(input, kernel)).asArray();
        assertThat(out).isEqualTo(ArrayShape.of(DType.F32, 8, 14, 15, 10));
        // a groups, b batch, c output features of a group, d input features of a group, e f the cut spatial dim, h the
        // free one
        assertThat(grouped.factors(List.of(input, kernel), out).toString())
                .isEqualTo("(b e|f g (a d), f 1 d (a c)) -> b e g (a c); d reduction sum; e window; f window sum");
        // the form of a filter's gradient: the reduced batch is the input feature
        Convolution filter = new Convolution(
                Window.parse("{size=14x15 pad=1_1x1_1}"), ConvDims.parse("f01b_i01o->01bf"), 1, 1, DType.F32);
        ArrayShape gradient = ArrayShape.of(DType.F32, 8, 14, 15, 10);
        assertThat(filter.factors(
                                List.of(input, gradient),
                                filter.inferShape(List.of(input, gradient)).asArray())
                        .toString())
                .startsWith("(c ");
    }

    @Test
    void countsRealProductsOnly() {
        Convolution conv =
                new Convolution(Window.parse("{size=3 pad=1_1}"), ConvDims.parse("b0f_0io->b0f"), 1, 1, DType.F32);
        // taps 1 and 3 miss one of 5 outputs each: 4 + 5 + 4 pairs
        assertThat(conv.flops(
                        List.of(ArrayShape.of(DType.F32, 2, 5, 3), ArrayShape.of(DType.F32, 3, 3, 7)),
                        ArrayShape.of(DType.F32, 2, 5, 7)))
                .isEqualTo(2 * 13 * 2 * 3 * 7);
    }
}
