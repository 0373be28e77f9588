package dev.drover.ir.ops;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Cutting elementwise, shape and slicing ops; and the factors that reshapes have. */
final class LocalizeTest {

    @ParameterizedTest
    @ValueSource(
            strings = {
                "a = f32[6,1,4] negate(x); b = f32[6,1,4] add(x, a); c = pred[6,1,4] compare(x, b), direction=LT;"
                        + "d = f32[6,1,4] select(c, x, b); e = pred[] constant(true); f = f32[6,1,4] select(e, x, b);"
                        + "g = f32[] constant(0.5); h = f32[6,1,4] clamp(g, x, b); i = bf16[6,1,4] convert(h);"
                        + "j = f32[6,1,4] reduce-precision(x), exponent_bits=5, mantissa_bits=3; k = f32[6,1,4] copy(x);"
                        + "l = c64[6,1,4] complex(x, x); m = u32[6,1,4] bitcast-convert(x); n = u8[6,1,4,4] bitcast-convert(x);"
                        + "o = f32[6,1,4] bitcast-convert(n)",
                "a = f32[6,3,1,4,2] broadcast(x), dimensions={0,2,3}; b = f32[4,6,1] transpose(x), dimensions={2,0,1};"
                        + "c = f32[2,6,4,1] broadcast(x), dimensions={1,3,2}; d = f32[] constant(2); e = f32[4,6] broadcast(d), dimensions={}",
                "a = f32[24] reshape(x); b = f32[2,3,4] reshape(a); c = f32[3,8] reshape(x); d = f32[8,3] bitcast(x);"
                        + "e = f32[4,6] reshape(x); f = f32[1,12,2,1] reshape(e)",
                "a = f32[6,1,2] slice(x), slice={[0:6], [0:1], [1:4:2]}; b = f32[] constant(7);"
                        + "c = f32[6,3,4] pad(x, b), padding=0_0x1_1x0_0; d = f32[6,1,6] pad(x, b), padding=0_0x0_0x-1_0_1;"
                        + "e = f32[6,1,4] reverse(x), dimensions={2}; f = f32[6,3,4] concatenate(x, x, e), dimensions={1}",
                "a = s32[] constant(2); b = s32[] constant(0); c = f32[3,1,4] dynamic-slice(x, a, b, b), dynamic_slice_sizes={3,1,4};"
                        + "d = f32[6,1,4] dynamic-update-slice(x, c, a, b, b); e = f32[6,1,4] dynamic-update-slice(x, x, a, b, b)",
                "a = s32[6,4] iota(), iota_dimension=0; b = bf16[4,512] iota(), iota_dimension=1; c = f32[6,4] iota(), iota_dimension=1;"
                        + "d = u8[6] iota(), iota_dimension=0",
                "a = s32[2,6] constant({{1,2,3,4,5,6},{7,8,9,10,11,12}}); b = bf16[4,6] constant(1.5); c = pred[4] constant({true,false,false,true})",
                "a = (f32[6,1,4], s32[6,4]) tuple(x, y); b = s32[6,4] get-tuple-element(a), index=1;"
                        + "c = (f32[6,1,4], s32[6,4]) opt-barrier(a); d = f32[6,1,4] get-tuple-element(c), index=0;"
                        + "e = (f32[6,1,4], f32[6,1,4], u32[]) copy-start(x); f = f32[6,1,4] copy-done(e); t = token[] after-all();"
                        + "g = f32[6,1,4] add-dependency(x, t)",
            })
    void partsMakeTheWhole(String instructions) {
        String hlo = Snippet.module("x = f32[6,1,4] parameter(0); y = s32[6,4] parameter(1);" + instructions);
        LocalizeChecks.checkAll(hlo, 7);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "12,8|96|(a b) -> (a b)",
                "96|12,8|((a b)) -> a b",
                "2,3,4|6,4|(a b c) -> (a b) c",
                "1,6,1|6|(1 a 1) -> a",
                "8,1,2|2,8|((a b) 1 c) -> a (b c)",
                "6,4|8,3|((a b) c) -> (a d) e; b whole; c whole; d whole; e whole",
                "3,8|4,6|(b (c a)) -> d (e a); b whole; c whole; d whole; e whole",
            })
    void reshapeFactors(String from, String to, String rule) {
        assertThat(ReshapeFactors.rule(shape(from), shape(to)).toString()).isEqualTo(rule);
    }

    private static ArrayShape shape(String dims) {
        String[] parts = dims.split(",", -1);
        long[] sizes = new long[parts.length];
        for (int i = 0; i < sizes.length; i++) {
            sizes[i] = Long.parseLong(parts[i]);
        }
        return ArrayShape.of(DType.F32, sizes);
    }
}
