package dev.drover.ir.eval;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import java.nio.ByteBuffer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class BitsTest {

    @ParameterizedTest
    @EnumSource(names = {"F16", "BF16", "F8E5M2", "F8E4M3FN"})
    void everyPatternOfASmallFloatSurvives(DType dtype) {
        for (int bits = 0; bits < 1 << dtype.bits(); bits++) {
            double value = Bits.toDouble(dtype, bits);
            if (Double.isNaN(value)) {
                assertThat(Bits.toDouble(dtype, Bits.ofDouble(dtype, value))).isNaN();
            } else {
                assertThat(Rounding.round(dtype, value)).as("exact %x", bits).isEqualTo(value);
                assertThat(Bits.ofDouble(dtype, value)).as("bits of %s", value).isEqualTo(bits);
            }
        }
    }

    @Test
    void knownPatterns() {
        assertThat(Bits.toDouble(DType.F16, 0x3c01)).isEqualTo(1 + 1 / 1024.0);
        assertThat(Bits.toDouble(DType.F16, 0x7bff)).isEqualTo(65504);
        assertThat(Bits.toDouble(DType.F16, 1)).isEqualTo(Math.scalb(1.0, -24));
        assertThat(Bits.toDouble(DType.F8E4M3FN, 0x7e)).isEqualTo(448);
        assertThat(Bits.toDouble(DType.F8E5M2, 0x7b)).isEqualTo(57344);
        assertThat(Bits.toDouble(DType.F8E5M2, 0xfc)).isEqualTo(Double.NEGATIVE_INFINITY);
        assertThat(Bits.ofDouble(DType.F32, -2)).isEqualTo(0xc0000000L);
    }

    @ParameterizedTest
    @EnumSource(
            mode = EnumSource.Mode.EXCLUDE,
            names = {"S4", "U4"})
    void bytesOfEachTypeReadBack(DType dtype) {
        ArrayShape shape = ArrayShape.of(dtype, 2, 3);
        Literal literal = switch (dtype.family()) {
            case FLOAT -> Literal.ofDoubles(shape, new double[] {1, -2, 0.1, -0.0, 1e30, 5});
            case COMPLEX -> Literal.ofDoubles(shape, new double[] {1, -2, 0.1, -0.0, 1e30, 5, 1, 2, 3, 4, 5, 6});
            default -> Literal.ofLongs(shape, new long[] {1, -2, 3, Long.MIN_VALUE, 255, 65537});
        };
        ByteBuffer buffer = ByteBuffer.allocate(Math.toIntExact(shape.sizeBytes()));
        Bits.write(literal, buffer);
        assertThat(buffer.hasRemaining()).isFalse();
        assertThat(Bits.read(shape, buffer.flip())).isEqualTo(literal);
    }
}
