package dev.drover.ir.ops;

import dev.drover.ir.type.DType;
import java.util.Arrays;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Gradient rules of elementwise, shape and slicing ops against finite differences. */
final class GradientTest {

    static Stream<UnaryKind> realKinds() {
        return Arrays.stream(UnaryKind.values())
                .filter(kind -> kind.accepts(DType.F64) && kind.resultType(DType.F64) == DType.F64);
    }

    @ParameterizedTest
    @MethodSource("realKinds")
    void unary(UnaryKind kind) {
        String module = Snippet.module("x = f64[2,3] parameter(0); y = f64[2,3] " + kind.opcode() + "(x)");
        switch (kind) {
            case LOG, LOG_PLUS_ONE, SQRT, RSQRT -> GradientChecks.checkRootAtPositive(module, 11);
            default -> GradientChecks.checkRoot(module, 11);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"add", "subtract", "multiply", "divide", "maximum", "minimum", "remainder", "atan2"})
    void binary(String opcode) {
        GradientChecks.checkRoot(
                Snippet.module(
                        "x = f64[2,3] parameter(0); y = f64[2,3] parameter(1); z = f64[2,3] " + opcode + "(x, y)"),
                12);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "x = f64[2,3] parameter(0); y = f64[2,3] parameter(1); z = f64[2,3] power(x, y)",
                "x = f64[2,3] parameter(0); c = f64[] constant(2); y = f64[2,3] broadcast(c), dimensions={};"
                        + "z = f64[2,3] power(x, y)",
                "x = f64[2,3] parameter(0); c = f64[] constant(0); y = f64[2,3] broadcast(c), dimensions={};"
                        + "z = f64[2,3] power(x, y)",
            })
    void power(String instructions) {
        GradientChecks.checkRootAtPositive(Snippet.module(instructions), 13);
    }

    @ParameterizedTest
    @CsvSource({"negate", "exponential", "log", "sqrt", "rsqrt", "tanh", "sine", "cosine", "abs", "real", "imag"})
    void complexUnary(String opcode) {
        String type = opcode.equals("abs") || opcode.equals("real") || opcode.equals("imag") ? "f32" : "c64";
        GradientChecks.checkRoot(Snippet.module("x = c64[3] parameter(0); y = " + type + "[3] " + opcode + "(x)"), 14);
    }

    @ParameterizedTest
    @ValueSource(strings = {"add", "subtract", "multiply", "divide"})
    void complexBinary(String opcode) {
        GradientChecks.checkRoot(
                Snippet.module("x = c64[3] parameter(0); y = c64[3] parameter(1); z = c64[3] " + opcode + "(x, y)"),
                15);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "p = pred[2,3] parameter(0); x = f64[2,3] parameter(1); y = f64[2,3] parameter(2); z = f64[2,3] select(p, x, y)",
                "p = pred[] constant(false); x = f64[2,3] parameter(0); y = f64[2,3] parameter(1); z = f64[2,3] select(p, x, y)",
                "a = f64[2,3] parameter(0); x = f64[2,3] parameter(1); b = f64[2,3] parameter(2); z = f64[2,3] clamp(a, x, b)",
                "a = f64[] constant(-0.5); x = f64[2,3] parameter(0); b = f64[] constant(0.5); z = f64[2,3] clamp(a, x, b)",
                "a = f64[] parameter(1); x = f64[2,7] parameter(0); b = f64[] parameter(2); z = f64[2,7] clamp(a, x, b)",
                "x = f64[2,3] parameter(0); z = f64[2,3] convert(x)",
                "x = f64[2,3] parameter(0); z = f64[2,3] copy(x)",
                "x = f64[2,3] parameter(0); z = f64[2,3] reduce-precision(x), exponent_bits=11, mantissa_bits=52",
                "x = f64[2,3] parameter(0); z = f64[4,3,2] broadcast(x), dimensions={2,1}",
                "x = f64[] parameter(0); z = f64[4,3] broadcast(x), dimensions={}",
                "x = f64[2,3] parameter(0); z = f64[2,3] broadcast(x), dimensions={0,1}",
                "x = f64[2,6] parameter(0); z = f64[3,4] reshape(x)",
                "x = f64[2,6] parameter(0); z = f64[3,4] bitcast(x)",
                "x = f64[2,3,4] parameter(0); z = f64[4,2,3] transpose(x), dimensions={2,0,1}",
                "x = f64[7,3] parameter(0); z = f64[3,2] slice(x), slice={[1:6:2], [0:2]}",
                "x = f64[7] parameter(0); z = f64[0] slice(x), slice={[2:2]}",
                "x = f64[2,3] parameter(0); v = f64[] parameter(1); z = f64[5,4] pad(x, v), padding=1_2x0_-1_1",
                "x = f64[4] parameter(0); v = f64[] parameter(1); z = f64[7] pad(x, v), padding=-1_-2_2",
                "x = f64[4,2] parameter(0); z = f64[4,2] reverse(x), dimensions={0}",
                "x = f64[2,3] parameter(0); y = f64[2,2] parameter(1); w = f64[2,3] parameter(2);"
                        + "z = f64[2,8] concatenate(x, y, w), dimensions={1}",
                "x = f64[5,3] parameter(0); i = s32[] constant(4); j = s32[] constant(1);"
                        + "z = f64[2,2] dynamic-slice(x, i, j), dynamic_slice_sizes={2,2}",
                "x = f64[5,3] parameter(0); u = f64[2,2] parameter(1); i = s32[] constant(1); j = s32[] constant(-3);"
                        + "z = f64[5,3] dynamic-update-slice(x, u, i, j)",
                "x = f64[2] parameter(0); y = f64[3] parameter(1); z = (f64[2], f64[3]) tuple(x, y)",
                "x = f64[2] parameter(0); z = f64[2] opt-barrier(x)",
                "x = f64[2] parameter(0); t = token[] after-all(); z = f64[2] add-dependency(x, t)",
                "x = f64[2] parameter(0); z = (f64[2], f64[2], u32[]) copy-start(x)",
            })
    void others(String instructions) {
        GradientChecks.checkRoot(Snippet.module(instructions), 16);
    }
}
