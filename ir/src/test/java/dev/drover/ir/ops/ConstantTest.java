package dev.drover.ir.ops;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.PackedLiteral;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import java.util.Objects;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Constants to and from text. */
final class ConstantTest {

    private static Literal parse(ArrayShape shape, String text) {
        return Objects.requireNonNull(ConstantText.parse(shape, text)).unpack();
    }

    private static String print(ArrayShape shape, String text) {
        return ConstantText.print(shape, ConstantText.parse(shape, text));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "F32|1|1",
                "F32|-0|-0.0",
                "F32|0.1|0.1",
                "F32|1e-07|1.0E-7",
                "F32|3.40282347e+38|3.4028235E38",
                "F32|1.4e-45|1.4E-45",
                "F32|inf|inf",
                "F32|-inf|-inf",
                "F32|nan|nan",
                "F32|-nan|-nan",
                "F32|nan(0x400001)|nan",
                "F64|0.1|0.1",
                "BF16|50.5|50.5",
                "BF16|0.1|0.100097656",
                "F16|65504|65504",
                "F8E4M3FN|448|448",
                "F8E5M2|1e9|inf",
                "S32|-2147483648|-2147483648",
                "U64|18446744073709551615|18446744073709551615",
                "S4|-8|-8",
                "PRED|true|true",
                "PRED|0|false",
                "C64|(1, -inf)|(1, -inf)",
            })
    void scalars(DType dtype, String text, String printed) {
        ArrayShape scalar = ArrayShape.scalar(dtype);
        assertThat(print(scalar, text)).isEqualTo(printed);
        assertThat(print(scalar, printed)).isEqualTo(printed);
    }

    @Test
    void decimalsAreRoundedOnceToF32() {
        // Halfway between two floats but for the last digit; by way of a double it would go down.
        ArrayShape scalar = ArrayShape.scalar(DType.F32);
        assertThat(parse(scalar, "1.00000005960464477539063").doubles()[0]).isEqualTo(1 + 0x1p-23);
    }

    @Test
    void nestedBracesWithComments() {
        ArrayShape shape = ArrayShape.of(DType.S32, 2, 1, 3);
        String text = "{ { /*i0=0*/ { 1, 2, 3 } },\n { /*i0=1*/ {4,5,6} } }";
        assertThat(parse(shape, text).longs()).containsExactly(1, 2, 3, 4, 5, 6);
        assertThat(print(shape, text)).isEqualTo("{ { {1, 2, 3} }, { {4, 5, 6} } }");
        assertThat(print(ArrayShape.of(DType.F32, 0), "{}")).isEqualTo("{}");
        assertThat(print(ArrayShape.of(DType.F32, 2, 0), "{{}, {}}")).isEqualTo("{ {}, {} }");
    }

    @Test
    void equalElementsTakeOne() {
        ArrayShape shape = ArrayShape.of(DType.F32, 3, 1000);
        PackedLiteral splat = Objects.requireNonNull(ConstantText.parse(shape, "2.5"));
        assertThat(splat.isSplat()).isTrue();
        assertThat(splat.unpack().doubles()).hasSize(3000).containsOnly(2.5);
        assertThat(splat.toBytes()).hasSize(12000);
        assertThat(ConstantText.parse(shape, ConstantText.print(shape, splat))).isEqualTo(splat);
        ArrayShape large = ArrayShape.of(DType.F32, 100_000);
        assertThat(print(large, "2.5")).isEqualTo("2.5");
    }

    @Test
    void valuesLeftOutAreNotGuessed() {
        ArrayShape shape = ArrayShape.of(DType.S32, 16, 2);
        assertThat(print(shape, "{...}")).isEqualTo("{...}");
        assertThatThrownBy(() -> Snippet.run("x = s32[16,2] constant({...}); y = s32[32] reshape(x)"))
                .hasMessageContaining("({...}) of constant (x)")
                .hasMessageContaining("Maybe");
    }

    @ParameterizedTest
    @EnumSource(DType.class)
    void everyTypePrintsAndReadsBack(DType dtype) {
        ArrayShape shape = ArrayShape.of(dtype, 3, 4);
        PackedLiteral packed = PackedLiteral.pack(RandomValues.literal(shape, new Random(5)));
        assertThat(ConstantText.parse(shape, ConstantText.print(shape, packed))).isEqualTo(packed);
        assertThat(PackedLiteral.pack(packed.unpack())).isEqualTo(packed);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "F32|1f|(1f)",
                "F32|0x|(0x)",
                "F32|infinity|(infinity)",
                "S8|128|(128)",
                "U8|-1|(-1)",
                "S32|1.5|(1.5)",
                "PRED|yes|(yes)",
                "F32|1 2|end where it has (2)",
                "C64|(1|',' where it has (end)",
            })
    void badScalars(DType dtype, String text, String message) {
        assertThatThrownBy(() -> parse(ArrayShape.scalar(dtype), text))
                .isInstanceOf(AttributeException.class)
                .hasMessageContaining(message);
    }

    @Test
    void badNesting() {
        ArrayShape shape = ArrayShape.of(DType.S32, 2, 2);
        assertThatThrownBy(() -> parse(shape, "{1, 2, 3, 4}")).hasMessageContaining("'{' where it has (1, 2");
        assertThatThrownBy(() -> parse(shape, "{{1, 2}, {3}}")).hasMessageContaining("',' where it has (}}");
        assertThatThrownBy(() -> parse(shape, "{{1, 2}, {3, 4, 5}}")).hasMessageContaining("'}' where it has (, 5");
    }
}
