package dev.drover.ir.ops;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.drover.ir.eval.Literal;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class DotTest {
    @Test
    void multipliesMatrices() {
        Literal a = Apply.f32(Apply.dims(2, 3), 1, 2, 3, 4, 5, 6);
        Literal b = Apply.f32(Apply.dims(3, 2), 7, 8, 9, 10, 11, 12);
        assertThat(Apply.literal(Dot.contracting(1, 0, DType.F32), a, b))
                .isEqualTo(Apply.f32(Apply.dims(2, 2), 58, 64, 139, 154));
    }

    /** lhs [k1=2, b1=3, m=4, b0=5, k0=6], rhs [b0=5, k0=6, n=7, b1=3, k1=2]: result [b0, b1, m, n]. */
    @Test
    void takesBatchAndContractingDimsInAnyOrder() {
        Dot dot = new Dot(List.of(3, 1), List.of(0, 3), List.of(4, 0), List.of(1, 4), DType.F32);
        for (DType dtype : List.of(DType.F32, DType.S32)) {
            Random random = new Random(1);
            Literal a = Apply.random(random, dtype, 2, 3, 4, 5, 6);
            Literal b = Apply.random(random, dtype, 5, 6, 7, 3, 2);
            Literal c = Apply.literal(
                    new Dot(dot.lhsBatch(), dot.rhsBatch(), dot.lhsContracting(), dot.rhsContracting(), dtype), a, b);
            assertThat(c.shape()).isEqualTo(ArrayShape.of(dtype, 5, 3, 4, 7));
            for (int i = 0; i < c.size(); i++) {
                long[] at = Apply.index(c.shape(), i);
                double sum = 0;
                for (int k0 = 0; k0 < 6; k0++) {
                    for (int k1 = 0; k1 < 2; k1++) {
                        sum += a.asDouble(Apply.at(a.shape(), k1, at[1], at[2], at[0], k0))
                                * b.asDouble(Apply.at(b.shape(), at[0], k0, at[3], at[1], k1));
                    }
                }
                assertThat(c.asDouble(i)).isEqualTo(sum);
            }
        }
        FactorRule rule = dot.factors(
                List.of(ArrayShape.of(DType.F32, 2, 3, 4, 5, 6), ArrayShape.of(DType.F32, 5, 6, 7, 3, 2)),
                ArrayShape.of(DType.F32, 5, 3, 4, 7));
        assertThat(rule.toString()).isEqualTo("(f b c a e, a e d b f) -> a b c d; e reduction sum; f reduction sum");
    }

    @Test
    void roundsOnceAtTheEnd() {
        Literal a = Literal.ofDoubles(ArrayShape.of(DType.BF16, 1, 3), new double[] {256, 1, 1});
        Literal b = Literal.ofDoubles(ArrayShape.of(DType.BF16, 3, 1), new double[] {1, 1, 1});
        // one by one in bf16 (8 bits) both ones would be lost
        assertThat(Apply.literal(Dot.contracting(1, 0, DType.BF16), a, b).doubles())
                .containsExactly(258);
        assertThat(Apply.literal(Dot.contracting(1, 0, DType.F32), a, b).dtype())
                .isEqualTo(DType.F32);
    }

    @Test
    void multipliesComplexNumbers() {
        Literal a = Literal.ofDoubles(ArrayShape.of(DType.C64, 2), new double[] {1, 2, 3, 4});
        Literal b = Literal.ofDoubles(ArrayShape.of(DType.C64, 2), new double[] {5, 6, 7, 8});
        // (1+2i)(5+6i) + (3+4i)(7+8i) = (-7+16i) + (-11+52i)
        assertThat(Apply.literal(Dot.contracting(0, 0, DType.C64), a, b).doubles())
                .containsExactly(-18, 68);
    }

    @Test
    void refusesDimsThatDiffer() {
        assertThatThrownBy(() -> Dot.contracting(1, 0, DType.F32)
                        .inferShape(List.of(ArrayShape.of(DType.F32, 2, 3), ArrayShape.of(DType.F32, 4, 2))))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessage("The contracting dims ([1] and [0]) of dot must be of the same sizes in its operands"
                        + " (f32[2,3] and f32[4,2]).");
    }

    @Test
    void countsMultiplyAddsAsTwo() {
        assertThat(Dot.contracting(1, 0, DType.F32)
                        .flops(
                                List.of(ArrayShape.of(DType.F32, 2, 3), ArrayShape.of(DType.F32, 3, 5)),
                                ArrayShape.of(DType.F32, 2, 5)))
                .isEqualTo(60);
    }
}
