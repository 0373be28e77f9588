package dev.drover.ir.init;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.drover.ir.eval.Literal;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class InitialValuesTest {
    private static final ArrayShape SHAPE = ArrayShape.of(DType.F32, 6, 5, 8);

    @Test
    void philoxGivesTheKnownAnswersOfItsAuthors() {
        assertThat(philox(0, 0, 0)).containsExactly(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8);
        assertThat(philox(-1, -1, -1)).containsExactly(0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd);
        assertThat(philox(0x299f31d0a4093822L, 0x85a308d3243f6a88L, 0x0370734413198a2eL))
                .containsExactly(0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1);
    }

    private static int[] philox(long key, long low, long high) {
        int[] out = new int[4];
        Philox.block(key, low, high, out);
        return out;
    }

    @ParameterizedTest
    @ValueSource(strings = {"normal(0.02)", "uniform(-1.0,3.0)", "constant(0.5)", "zeros", "ones"})
    void aPartIsBitEqualToThePartOfTheWhole(String distribution) {
        InitialValue spec = new InitialValue("w", SHAPE, Distribution.parse(distribution));
        Literal whole = InitialValues.fill(spec, 42);
        SplittableRandom random = new SplittableRandom(1);
        for (int trial = 0; trial < 50; trial++) {
            long[] starts = new long[3];
            long[] sizes = new long[3];
            for (int i = 0; i < 3; i++) {
                starts[i] = random.nextLong(SHAPE.dim(i));
                sizes[i] = 1 + random.nextLong(SHAPE.dim(i) - starts[i]);
            }
            Literal part = InitialValues.fill(spec, 42, Slice.of(starts, sizes));
            int at = 0;
            for (long a = 0; a < sizes[0]; a++) {
                for (long b = 0; b < sizes[1]; b++) {
                    for (long c = 0; c < sizes[2]; c++) {
                        int from = (int) (((starts[0] + a) * 5 + starts[1] + b) * 8 + starts[2] + c);
                        assertThat(part.doubles()[at++]).isEqualTo(whole.doubles()[from]);
                    }
                }
            }
        }
    }

    @Test
    void aStridedPartTakesEachBlock() {
        InitialValue spec = new InitialValue("w", ArrayShape.of(DType.F32, 12), Distribution.normal(1));
        double[] whole = InitialValues.fill(spec, 7).doubles();
        Slice slice = new Slice(List.of(new Slice.Dim(2, 2, 4, 3)));
        assertThat(InitialValues.fill(spec, 7, slice).doubles())
                .containsExactly(whole[2], whole[3], whole[6], whole[7], whole[10], whole[11]);
    }

    @Test
    void aPartMustLieWithin() {
        InitialValue spec = new InitialValue("w", SHAPE, Distribution.zeros());
        assertThatThrownBy(() -> InitialValues.fill(spec, 1, Slice.of(new long[] {0, 0, 1}, new long[] {1, 1, 8})))
                .hasMessageContaining("must lie within size (8)");
    }

    @Test
    void seedsAndNamesGiveDifferentNumbers() {
        InitialValue a = new InitialValue("a", SHAPE, Distribution.normal(1));
        InitialValue b = new InitialValue("b", SHAPE, Distribution.normal(1));
        assertThat(InitialValues.fill(a, 1)).isEqualTo(InitialValues.fill(a, 1));
        assertThat(InitialValues.fill(a, 1)).isNotEqualTo(InitialValues.fill(a, 2));
        assertThat(InitialValues.fill(a, 1)).isNotEqualTo(InitialValues.fill(b, 1));
    }

    @Test
    void normalNumbersHaveTheMomentsAndTailsOfTheNormalDistribution() {
        int n = 400_000;
        InitialValue spec = new InitialValue("w", ArrayShape.of(DType.F64, n), Distribution.normal(2));
        double[] values = InitialValues.fill(spec, 3).doubles();
        double sum = 0;
        double squares = 0;
        double fourths = 0;
        int beyondTwoSigma = 0;
        for (double value : values) {
            double z = value / 2;
            sum += z;
            squares += z * z;
            fourths += z * z * z * z;
            beyondTwoSigma += Math.abs(z) > 2 ? 1 : 0;
        }
        // Within 5 standard errors: 1/sqrt(n), sqrt(2/n), sqrt(96/n), and sqrt(p(1-p)/n).
        assertThat(sum / n).isBetween(-0.008, 0.008);
        assertThat(squares / n).isBetween(0.988, 1.012);
        assertThat(fourths / n).isBetween(2.92, 3.08);
        assertThat(beyondTwoSigma / (double) n).isBetween(0.0438, 0.0472);
    }

    @Test
    void theQuantileInvertsTheDistributionFunction() {
        for (double z : new double[] {-5, -3, -2, -1.9, -0.5, 0, 0.1, 1, 1.97, 1.98, 4}) {
            assertThat(NormalQuantile.of(normalCdf(z))).isBetween(z - 1e-7, z + 1e-7);
        }
    }

    /** Simpson's rule from -12. */
    private static double normalCdf(double z) {
        int steps = 20_000;
        double width = (z + 12) / steps;
        double sum = 0;
        for (int i = 0; i <= steps; i++) {
            double x = -12 + i * width;
            double weight = i == 0 || i == steps ? 1 : i % 2 == 1 ? 4 : 2;
            sum += weight * Math.exp(-x * x / 2);
        }
        return sum * width / 3 / Math.sqrt(2 * Math.PI);
    }

    @Test
    void integersStayInTheirRangeAndReachItsEnds() {
        InitialValue spec =
                new InitialValue("tokens", ArrayShape.of(DType.S32, 1000), new Distribution.Integers(-3, 5));
        Literal values = InitialValues.fill(spec, 9);
        assertThat(Arrays.stream(values.longs()).boxed()).contains(-3L, 4L).allMatch(v -> v >= -3 && v < 5);
    }

    @Test
    void valuesAreRoundedToTheElementType() {
        InitialValue wide = new InitialValue("w", ArrayShape.of(DType.F64, 64), Distribution.normal(1));
        InitialValue narrow = new InitialValue("w", ArrayShape.of(DType.BF16, 64), Distribution.normal(1));
        double[] exact = InitialValues.fill(wide, 5).doubles();
        double[] rounded = InitialValues.fill(narrow, 5).doubles();
        for (int i = 0; i < 64; i++) {
            assertThat(rounded[i]).isBetween(exact[i] - Math.abs(exact[i]) / 256, exact[i] + Math.abs(exact[i]) / 256);
            assertThat((double) Float.intBitsToFloat(Float.floatToIntBits((float) rounded[i]) & 0xFFFF0000))
                    .isEqualTo(rounded[i]);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"zeros", "ones", "constant(0.5)", "normal(0.02)", "uniform(-1.0,1.0)", "integers(0,256)"})
    void distributionsPrintAndReadBack(String text) {
        assertThat(Distribution.parse(text).toString()).isEqualTo(text);
    }

    @Test
    void unknownDistributionsAreRefused() {
        assertThatThrownBy(() -> Distribution.parse("gamma(1)")).hasMessageContaining("must be one of zeros");
        assertThatThrownBy(() -> new InitialValue("n", ArrayShape.of(DType.S32, 2), Distribution.normal(1)))
                .hasMessageContaining("must be a float");
    }
}
