package dev.drover.ir.ops;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.drover.ir.eval.Literal;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Values of elementwise ops, written as HLO. */
final class ElementwiseTest {

    private static Literal run(String type, String instructions) {
        return Snippet.run(instructions.replace("T[", type + "["));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "f32|abs|-2.5|2.5",
                "f32|negate|2|-2",
                "f32|sign|-3|-1",
                "f32|exponential|1|2.7182817",
                "f32|exponential-minus-one|1e-7|1.00000008e-7",
                "f32|log|10|2.3025851",
                "f32|log-plus-one|1e-7|9.9999994e-8",
                "f32|sqrt|2|1.4142135",
                "f32|rsqrt|4|0.5",
                "f32|cbrt|-27|-3",
                "f32|tanh|0.5|0.46211717",
                "f32|logistic|0|0.5",
                "f32|sine|1|0.84147096",
                "f32|cosine|1|0.5403023",
                "f32|tan|1|1.5574077",
                "f64|erf|0.5|0.5204998778130465",
                "f64|erf|-1.5|-0.9661051464753108",
                "f64|erf|2.4|0.9993114861033549",
                "f64|erf|2.6|0.9997639655834707",
                "f64|erf|4|0.9999999845827421",
                "f32|floor|-1.5|-2",
                "f32|ceil|-1.5|-1",
                "f32|round-nearest-afz|2.5|3",
                "f32|round-nearest-afz|-0.5|-1",
                "f64|round-nearest-afz|0.49999999999999994|0",
                "f32|round-nearest-even|2.5|2",
                "f32|round-nearest-even|-3.5|-4",
                "s8|not|5|-6",
                "u8|not|5|250",
                "pred|not|true|0",
                "s32|popcnt|-1|32",
                "u16|popcnt|7|3",
                "s32|count-leading-zeros|1|31",
                "u8|count-leading-zeros|0|8",
                "s64|count-leading-zeros|-1|0",
                "s8|abs|-128|-128",
                "u8|negate|1|255",
                "bf16|add-self|1.0078125|2.015625",
                "s32|sign|-7|-1",
                "u32|sign|4000000000|1",
            })
    void unary(String type, String opcode, String argument, double expected) {
        String op = opcode.equals("add-self") ? "add(x, x)" : opcode + "(x)";
        Literal value = run(type, "x = T[] constant(" + argument + "); r = T[] " + op);
        // One unit in the last place where the function is not an exact one.
        double unit = type.equals("f64") ? 0x1p-52 : type.equals("f32") ? 0x1p-23 : 0;
        assertThat(value.asDouble(0)).isCloseTo(expected, Offset.offset(Math.abs(expected) * unit));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "s32|divide|7|-2|-3",
                "s32|divide|7|0|-1",
                "u8|divide|7|0|255",
                "s32|divide|-2147483648|-1|-2147483648",
                "s32|remainder|-7|2|-1",
                "s32|remainder|-7|0|-7",
                "f32|remainder|-7.5|2|-1.5",
                "s8|add|127|1|-128",
                "u8|subtract|0|1|255",
                "s32|multiply|65536|65536|0",
                "s32|power|3|5|243",
                "s32|power|2|-1|0",
                "s32|power|-1|-3|-1",
                "f32|power|1|nan|1",
                "f32|power|-2|3|-8",
                "f32|maximum|1|nan|nan",
                "f32|minimum|-1|2|-1",
                "u32|maximum|1|4294967295|4294967295",
                "s32|shift-left|1|31|-2147483648",
                "s32|shift-left|1|32|0",
                "s32|shift-right-logical|-1|28|15",
                "s32|shift-right-logical|-1|-1|0",
                "s32|shift-right-arithmetic|-8|1|-4",
                "s32|shift-right-arithmetic|-8|99|-1",
                "u8|shift-right-arithmetic|128|3|240",
                "s32|and|12|10|8",
                "s32|or|12|10|14",
                "s32|xor|12|10|6",
                "pred|xor|true|true|0",
                "pred|add|true|true|1",
                "f32|atan2|1|-1|2.3561945",
                "f32|divide|1|3|0.33333334",
                "f16|add|2048|1|2048",
                "bf16|multiply|1.0078125|1.0078125|1.015625",
                "f8e4m3fn|add|448|32|nan",
                "f8e5m2|multiply|57344|2|inf",
            })
    void binary(String type, String opcode, String left, String right, String expected) {
        Literal value = run(
                type, "x = T[] constant(" + left + "); y = T[] constant(" + right + "); r = T[] " + opcode + "(x, y)");
        double wanted = switch (expected) {
            case "nan" -> Double.NaN;
            case "inf" -> Double.POSITIVE_INFINITY;
            default -> Double.parseDouble(expected);
        };
        double rounded = value.longs().length > 0 ? wanted : (float) wanted;
        assertThat(Double.valueOf(value.asDouble(0))).isEqualTo(Double.valueOf(rounded));
    }

    @Test
    void unsigned64() {
        String two = "x = u64[] constant(18446744073709551615); y = u64[] constant(3); ";
        assertThat(run("", two + "r = u64[] divide(x, y)").longs()).containsExactly(6148914691236517205L);
        assertThat(run("", two + "r = u64[] remainder(x, y)").longs()).containsExactly(0);
        assertThat(run("", two + "r = u64[] maximum(x, y)").longs()).containsExactly(-1);
        assertThat(run("", two + "r = pred[] compare(x, y), direction=GT").longs())
                .containsExactly(1);
        assertThat(run("", two + "r = f64[] convert(x)").doubles()).containsExactly(0x1p64);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "f32|nan|s32|0",
                "f32|-3.9|s32|-3",
                "f32|3e9|s32|2147483647",
                "f32|-3e9|s32|-2147483648",
                "f32|-1|u8|0",
                "f32|300|u8|255",
                "f64|1e30|u64|-1",
                "f64|9223372036854775808|u64|-9223372036854775808",
                "f32|0.5|pred|1",
                "f32|nan|pred|1",
                "s32|257|u8|1",
                "s32|-1|u64|-1",
                "u8|200|s8|-56",
                "pred|true|f32|1",
                "s64|9007199254740993|f32|9007199254740992",
                "f32|1.00390625|bf16|1",
                "f32|1.01171875|bf16|1.015625",
                "f32|464|f8e4m3fn|448",
            })
    void convert(String from, String value, String to, double expected) {
        Literal x = run(from, "x = T[] constant(" + value + "); r = " + to + "[] convert(x)");
        assertThat(x.longs().length > 0 ? (double) x.longs()[0] : x.doubles()[0])
                .isEqualTo(expected);
    }

    @Test
    void comparesNanByType() {
        String two = "x = f32[3] constant({nan, -0, 1}); y = f32[3] constant({1, 0, 1}); ";
        assertThat(run("", two + "r = pred[3] compare(x, y), direction=GE").longs())
                .containsExactly(0, 1, 1);
        assertThat(run("", two + "r = pred[3] compare(x, y), direction=NE").longs())
                .containsExactly(1, 0, 0);
        assertThat(run("", two + "r = pred[3] compare(x, y), direction=GE, type=TOTALORDER")
                        .longs())
                .containsExactly(1, 0, 1);
    }

    @Test
    void selectsAndClamps() {
        assertThat(run(
                                "",
                                "p = pred[3] constant({true, false, true}); x = s32[3] constant({1, 2, 3}); "
                                        + "y = s32[3] constant({4, 5, 6}); r = s32[3] select(p, x, y)")
                        .longs())
                .containsExactly(1, 5, 3);
        assertThat(run(
                                "",
                                "a = f32[] constant(-1); x = f32[4] constant({-5, 0.5, 7, nan}); b = f32[] constant(2); "
                                        + "r = f32[4] clamp(a, x, b)")
                        .doubles())
                .containsExactly(-1, 0.5, 2, Double.NaN);
    }

    @Test
    void complexNumbers() {
        String two = "x = c64[2] constant({(1, 2), (0, -1)}); y = c64[2] constant({(3, -1), (2, 0)}); ";
        assertThat(run("", two + "r = c64[2] multiply(x, y)").doubles()).containsExactly(5, 5, 0, -2);
        assertThat(run("", two + "r = c64[2] divide(x, y)").doubles())
                .containsExactly((float) 0.1, (float) 0.7, 0, -0.5);
        assertThat(run("", two + "r = f32[2] imag(x)").doubles()).containsExactly(2, -1);
        assertThat(run("", two + "r = f32[2] abs(y)").doubles()).containsExactly((float) Math.sqrt(10), 2);
        assertThat(run("", two + "e = c64[2] exponential(x); r = c64[2] log(e)").doubles())
                .usingElementComparator((a, b) -> Math.abs(a - b) < 1e-6 ? 0 : 1)
                .containsExactly(1, 2, 0, -1);
        assertThat(run("", two + "s = c64[2] sqrt(x); r = c64[2] multiply(s, s)")
                        .doubles())
                .usingElementComparator((a, b) -> Math.abs(a - b) < 1e-6 ? 0 : 1)
                .containsExactly(1, 2, 0, -1);
    }

    @Test
    void reducesPrecisionAsTheTypesDo() {
        String x = "x = f32[6] constant({1.00390625, 1.01171875, 1e39, 1e-40, nan, -70000}); ";
        assertThat(run("", x + "r = f32[6] reduce-precision(x), exponent_bits=8, mantissa_bits=7")
                        .doubles())
                .containsExactly(1, 1.015625, Double.POSITIVE_INFINITY, 0x1p-133, Double.NaN, -70144);
        assertThat(run("", x + "r = f32[6] reduce-precision(x), exponent_bits=5, mantissa_bits=10")
                        .doubles())
                .containsExactly(
                        1.00390625, 1.01171875, Double.POSITIVE_INFINITY, 0, Double.NaN, Double.NEGATIVE_INFINITY);
    }

    @Test
    void refusesWrongTypesAndShapes() {
        assertThatThrownBy(() -> run("", "x = s32[2] constant({1, 2}); r = s32[2] exponential(x)"))
                .hasMessageContaining("element type (s32)")
                .hasMessageContaining("float or complex");
        assertThatThrownBy(() -> run("", "x = f32[2] constant({1, 2}); y = f32[1] constant({1}); r = f32[2] add(x, y)"))
                .hasMessageContaining("(f32[2] and f32[1])");
        assertThatThrownBy(() -> run("", "x = f32[] constant(1); y = f32[] constant(1); r = f32[] and(x, y)"))
                .hasMessageContaining("(f32) of the operands of and must be pred or signed or unsigned");
        assertThatThrownBy(() ->
                        run("", "x = f32[] constant(1); y = f32[] constant(1); r = pred[] compare(x, y), direction=XX"))
                .hasMessageContaining("direction (XX)");
    }
}
