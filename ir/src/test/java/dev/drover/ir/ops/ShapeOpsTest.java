package dev.drover.ir.ops;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.drover.ir.eval.Literal;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Values and errors of ops that move elements, against hand-made values on asymmetric shapes. */
final class ShapeOpsTest {
    // x = [[1,2,3],[4,5,6]]
    private static final String X = "x = s32[2,3] constant({{1,2,3},{4,5,6}});";

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "y = s32[3,2] transpose(x), dimensions={1,0}|[1, 4, 2, 5, 3, 6]",
                "y = s32[3,2] reshape(x)|[1, 2, 3, 4, 5, 6]",
                "y = s32[2,2,3] broadcast(x), dimensions={1,2}|[1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6]",
                "y = s32[3,1,2] broadcast(x), dimensions={2,0}|[1, 4, 2, 5, 3, 6]",
                "y = s32[2,2] slice(x), slice={[0:2], [0:3:2]}|[1, 3, 4, 6]",
                "y = s32[1,1] slice(x), slice={[1:2], [1:2]}|[5]",
                "y = s32[2,3] reverse(x), dimensions={1}|[3, 2, 1, 6, 5, 4]",
                "y = s32[2,3] reverse(x), dimensions={0,1}|[6, 5, 4, 3, 2, 1]",
                "z = s32[2,1] constant({{7},{8}}); y = s32[2,4] concatenate(x, z), dimensions={1}|[1, 2, 3, 7, 4, 5, 6, 8]",
                "y = s32[4,3] concatenate(x, x), dimensions={0}|[1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6]",
                "v = s32[] constant(9); y = s32[3,5] pad(x, v), padding=0_1x1_1|[9, 1, 2, 3, 9, 9, 4, 5, 6, 9, 9, 9, 9, 9, 9]",
                "v = s32[] constant(9); y = s32[2,5] pad(x, v), padding=0_0x0_0_1|[1, 9, 2, 9, 3, 4, 9, 5, 9, 6]",
                "v = s32[] constant(9); y = s32[2,4] pad(x, v), padding=0_0x-1_0_1|[9, 2, 9, 3, 9, 5, 9, 6]",
                "v = s32[] constant(9); y = s32[1,2] pad(x, v), padding=-1_0x1_-2|[9, 4]",
                "v = s32[] constant(9); y = s32[2,1] pad(x, v), padding=0_0x-3_1|[9, 9]",
                "i = s32[] constant(1); j = s32[] constant(2); y = s32[1,2] dynamic-slice(x, i, j), dynamic_slice_sizes={1,2}|[5, 6]",
                "i = s32[] constant(-7); j = s32[] constant(1); y = s32[1,2] dynamic-slice(x, i, j), dynamic_slice_sizes={1,2}|[2, 3]",
                "u = s32[1,2] constant({{7,8}}); i = u8[] constant(1); j = u8[] constant(255);"
                        + "y = s32[2,3] dynamic-update-slice(x, u, i, j)|[1, 2, 3, 4, 7, 8]",
                "y = s32[2,3] iota(), iota_dimension=0|[0, 0, 0, 1, 1, 1]",
                "y = s32[2,3] iota(), iota_dimension=1|[0, 1, 2, 0, 1, 2]",
                "t = (s32[2,3], s32[2,3]) tuple(x, x); b = (s32[2,3], s32[2,3]) opt-barrier(t);"
                        + "y = s32[2,3] get-tuple-element(b), index=1|[1, 2, 3, 4, 5, 6]",
                "y = s16[2,3,2] bitcast-convert(x)|[1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0]",
                "h = s16[2,3,2] bitcast-convert(x); y = s32[2,3] bitcast-convert(h)|[1, 2, 3, 4, 5, 6]",
                "f = f32[2] constant({1, -0}); y = u32[2] bitcast-convert(f)|[1065353216, 2147483648]",
                "f = bf16[2] constant({-2, nan}); y = u16[2] bitcast-convert(f)|[49152, 32704]",
            })
    void values(String instructions, String expected) {
        Literal value = Snippet.run(X + instructions);
        assertThat(Arrays.toString(value.longs())).isEqualTo(expected);
    }

    @Test
    void movesComplexNumbersAsPairs() {
        Literal value = Snippet.run(
                "x = c64[2,1] constant({{(1, 2)}, {(3, 4)}}); r = c64[2,1] reverse(x), dimensions={0};"
                        + "c = c64[2,2] concatenate(x, r), dimensions={1}; t = c64[2,2] transpose(c), dimensions={1,0}");
        assertThat(value.doubles()).containsExactly(1, 2, 3, 4, 3, 4, 1, 2);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "y = s32[3,3] broadcast(x), dimensions={0,1}|dim 0 (3)",
                "y = s32[2,3] broadcast(x), dimensions={0}|as many as the dims of its operand (s32[2,3])",
                "y = s32[2,3] broadcast(x), dimensions={0,0}|dimensions ([0, 0])",
                "y = s32[7] reshape(x)|result (s32[7]) of reshape",
                "y = s32[3,2] transpose(x), dimensions={1,1}|dimensions ([1, 1])",
                "y = s32[2,2] slice(x), slice={[0:2], [1:4]}|range 1 of {[0:2], [1:4]}",
                "y = s32[2,2] slice(x), slice={[0:2], [1:3:0]}|positive stride",
                "y = s32[2,2] slice(x), slice={0:2}|list of ranges",
                "y = s32[2] slice(x), slice={[0:2]}|as many as the dims",
                "v = s32[] constant(0); y = s32[2,3] pad(x, v), padding=0_0x0_0x0_0|as many entries",
                "v = s32[] constant(0); y = s32[2,3] pad(x, v), padding=0_0x-4_0|at least 0 of dim 1",
                "v = s32[] constant(0); y = s32[2,3] pad(x, v), padding=0_0x0|form low_high",
                "v = f32[] constant(0); y = s32[2,3] pad(x, v), padding=0_0x0_0|operand 1 (f32[])",
                "z = s32[3,1] constant({{7},{8},{9}}); y = s32[2,4] concatenate(x, z), dimensions={1}|operand 1 (s32[3,1])",
                "y = s32[2,3] concatenate(x), dimensions={2}|dims below 2",
                "y = s32[2,3] reverse(x), dimensions={3}|dims below 2",
                "y = s32[2,3] iota(), iota_dimension=2|iota_dimension",
                "i = f32[] constant(1); y = s32[1,1] dynamic-slice(x, i, i), dynamic_slice_sizes={1,1}|operand 1 (f32[])",
                "i = s32[] constant(1); y = s32[1,1] dynamic-slice(x, i), dynamic_slice_sizes={1,1}|operands (2)",
                "i = s32[] constant(1); y = s32[3,1] dynamic-slice(x, i, i), dynamic_slice_sizes={3,1}|must fit into",
                "i = s32[] constant(1); y = s32[2,3] dynamic-update-slice(x, i, i, i)|operand 1 (s32[])",
                "t = (s32[2,3]) tuple(x); y = s32[2,3] get-tuple-element(t), index=1|index (1)",
                "y = s32[2,3] get-tuple-element(x), index=0|must be a tuple",
                "y = f32[2,3] select(x, x, x)|operand 0 (s32[2,3])",
                "y = u64[2] bitcast-convert(x)|must be 2",
            })
    void errors(String instructions, String message) {
        assertThatThrownBy(() -> Snippet.run(X + instructions)).hasMessageContaining(message);
    }
}
