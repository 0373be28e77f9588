package dev.drover.ir.ops;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.ir.graph.Instruction;
import dev.drover.ir.text.HloReader;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Which operands of elementwise, shape and slicing ops a partial sum may pass. */
final class LinearTest {

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "1|x = f64[2,3] parameter(0); y = f64[2,3] parameter(1); z = f64[2,3] add(x, y)",
                "1|x = s32[2,3] parameter(0); y = s32[2,3] parameter(1); z = s32[2,3] subtract(x, y)",
                "2|x = f64[2,3] parameter(0); y = f64[2,3] parameter(1); z = f64[2,3] multiply(x, y)",
                "2|x = c64[3] parameter(0); y = c64[3] parameter(1); z = c64[3] multiply(x, y)",
                "1|x = f64[2,3] parameter(0); y = f64[2,3] parameter(1); z = f64[2,3] divide(x, y)",
                "1|x = f32[3] parameter(0); y = f32[3] parameter(1); z = c64[3] complex(x, y)",
                "0|x = f64[2,3] parameter(0); y = f64[2,3] parameter(1); z = f64[2,3] maximum(x, y)",
                "1|x = f64[3] parameter(0); z = f64[3] negate(x)",
                "1|x = c64[3] parameter(0); z = f32[3] imag(x)",
                "0|x = f64[3] parameter(0); z = f64[3] exponential(x)",
                "1|x = f64[3] parameter(0); z = f32[3] convert(x)",
                "1|x = s32[3] parameter(0); z = f32[3] convert(x)",
                "0|x = f64[3] parameter(0); z = s32[3] convert(x)",
                "0|x = f64[3] parameter(0); z = f64[3] reduce-precision(x), exponent_bits=8, mantissa_bits=7",
                "1|x = f64[3] parameter(0); z = f64[3] copy(x)",
                "1|p = pred[3] parameter(0); x = f64[3] parameter(1); y = f64[3] parameter(2); z = f64[3] select(p, x, y)",
                "0|a = f64[] parameter(0); x = f64[3] parameter(1); b = f64[] parameter(2); z = f64[3] clamp(a, x, b)",
                "1|x = f64[3] parameter(0); z = f64[2,3] broadcast(x), dimensions={1}",
                "1|x = f64[2,3] parameter(0); z = f64[6] reshape(x)",
                "1|x = f64[2,3] parameter(0); z = f64[3,2] transpose(x), dimensions={1,0}",
                "1|x = f64[5] parameter(0); z = f64[2] slice(x), slice={[1:5:2]}",
                "1|x = f64[3] parameter(0); v = f64[] parameter(1); z = f64[6] pad(x, v), padding=-1_2_1",
                "1|x = f64[3] parameter(0); z = f64[3] reverse(x), dimensions={0}",
                "1|x = f64[3] parameter(0); y = f64[2] parameter(1); z = f64[5] concatenate(x, y), dimensions={0}",
                "1|x = f64[5] parameter(0); i = s32[] parameter(1); z = f64[2] dynamic-slice(x, i), dynamic_slice_sizes={2}",
                "1|x = f64[5] parameter(0); u = f64[2] parameter(1); i = s32[] parameter(2); z = f64[5] dynamic-update-slice(x, u, i)",
                "1|x = f64[2] parameter(0); y = f64[3] parameter(1); z = (f64[2], f64[3]) tuple(x, y)",
                "1|x = (f64[2], f64[3]) parameter(0); z = f64[3] get-tuple-element(x), index=1",
            })
    void sumsPass(int groups, String instructions) {
        LinearChecks.checkRoot(Snippet.module(instructions), groups, 21);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "6|x = f32[2,3] parameter(0); z = f32[2,3] tanh(x)",
                "6|x = f32[2,3] parameter(0); y = f32[2,3] parameter(1); z = f32[2,3] add(x, y)",
                "0|x = f32[2,3] parameter(0); z = f32[3,2] transpose(x), dimensions={1,0}",
                "0|x = f32[3] parameter(0); z = f32[2,3] broadcast(x), dimensions={1}",
            })
    void flopsCountArithmeticOnly(long flops, String instructions) {
        Instruction root =
                HloReader.read("test", Snippet.module(instructions)).entry().root();
        assertThat(root.op().flops(root.operandShapes(), root.shape())).isEqualTo(flops);
    }
}
