package dev.drover.backend.torch.comm;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.ir.ops.Reduction;
import dev.drover.ir.type.DType;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.Test;

/** Types whose carrier orders or wraps in another way than they do. */
class CombineTest {
    private static long[] combined(
            ScalarType carrier, DType dtype, Reduction reduction, boolean inPlace, long[] left, long[] right) {
        try (PointerScope scope = new PointerScope()) {
            Tensor x = torch.tensor(left).to(carrier);
            Tensor y = torch.tensor(right).to(carrier);
            Tensor result = inPlace ? x : torch.empty_like(x);
            Combine.into(result, x, y, dtype, reduction);
            Tensor wide = result.to(ScalarType.Long);
            long[] out = new long[left.length];
            for (int i = 0; i < out.length; i++) {
                out[i] = wide.select(0, i).item_long();
            }
            return out;
        }
    }

    @Test
    void largeUnsignedNumbersAreLarge() {
        long[] left = {1, -1, Long.MIN_VALUE, 7, 0};
        long[] right = {-1, -2, Long.MAX_VALUE, 7, Long.MIN_VALUE};
        for (boolean inPlace : new boolean[] {false, true}) {
            assertThat(combined(ScalarType.Long, DType.U64, Reduction.MAX, inPlace, left, right))
                    .containsExactly(-1, -1, Long.MIN_VALUE, 7, Long.MIN_VALUE);
            assertThat(combined(ScalarType.Long, DType.U64, Reduction.MIN, inPlace, left, right))
                    .containsExactly(1, -2, Long.MAX_VALUE, 7, 0);
        }
    }

    @Test
    void fourBitsWrap() {
        long[] left = {7, -8, 3, -1, 5};
        long[] right = {1, -1, 4, 1, 5};
        assertThat(combined(ScalarType.Char, DType.S4, Reduction.SUM, true, left, right))
                .containsExactly(-8, 7, 7, 0, -6);
        assertThat(combined(ScalarType.Char, DType.S4, Reduction.PROD, false, left, right))
                .containsExactly(7, -8, -4, -1, -7);
        assertThat(combined(ScalarType.Char, DType.S4, Reduction.MAX, false, left, right))
                .containsExactly(7, -1, 4, 1, 5);
    }
}
