package dev.drover.ir.ops;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import dev.drover.ir.eval.Literal;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.text.HloReader;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Fourier transforms against the sums that define them. */
final class FftTest {
    private final Random random = new Random(31);

    /** The sum of the definition, over all of the last dims; the operand has every element of them, in pairs. */
    private static double[] sums(double[] x, long batch, List<Long> lengths, double sign) {
        int n = (int) lengths.stream().mapToLong(Long::longValue).reduce(1, (a, b) -> a * b);
        double[] out = new double[x.length];
        for (int line = 0; line < batch; line++) {
            for (int k = 0; k < n; k++) {
                for (int i = 0; i < n; i++) {
                    double turns = 0;
                    int kRest = k;
                    int iRest = i;
                    for (int d = lengths.size() - 1; d >= 0; d--) {
                        int length = lengths.get(d).intValue();
                        turns += (double) (kRest % length * (iRest % length) % length) / length;
                        kRest /= length;
                        iRest /= length;
                    }
                    double c = Math.cos(sign * 2 * Math.PI * turns);
                    double s = Math.sin(sign * 2 * Math.PI * turns);
                    int from = 2 * (line * n + i);
                    int to = 2 * (line * n + k);
                    out[to] += x[from] * c - x[from + 1] * s;
                    out[to + 1] += x[from] * s + x[from + 1] * c;
                }
            }
        }
        return out;
    }

    private static void assertClose(double[] actual, double[] expected) {
        assertThat(actual).hasSameSizeAs(expected);
        for (int i = 0; i < expected.length; i++) {
            assertThat(actual[i]).as("number %s", i).isCloseTo(expected[i], within(2e-6 * (1 + Math.abs(expected[i]))));
        }
    }

    private Literal values(DType dtype, long... dims) {
        return RandomValues.literal(ArrayShape.of(dtype, dims), random);
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17, 30, 31, 64, 97})
    void complexLines(long n) {
        Literal x = values(DType.C64, 3, n);
        double[] forward = sums(x.doubles(), 3, List.of(n), -1);
        double[] inverse = sums(x.doubles(), 3, List.of(n), 1);
        for (int i = 0; i < inverse.length; i++) {
            inverse[i] /= n;
        }
        assertClose(Apply.literal(new Fft("FFT", List.of(n)), x).doubles(), forward);
        assertClose(Apply.literal(new Fft("IFFT", List.of(n)), x).doubles(), inverse);
    }

    @ParameterizedTest
    @ValueSource(strings = {"1", "2", "5", "8", "13", "3 4", "4 5", "1 6", "2 3 4", "3 1 5"})
    void realLines(String text) {
        List<Long> lengths = Stream.of(text.split(" ", -1)).map(Long::valueOf).toList();
        int rank = lengths.size() + 1;
        long[] dims = new long[rank];
        dims[0] = 2;
        for (int d = 1; d < rank; d++) {
            dims[d] = lengths.get(d - 1);
        }
        Literal x = values(DType.F32, dims);
        double[] pairs = new double[2 * x.size()];
        for (int i = 0; i < x.size(); i++) {
            pairs[2 * i] = x.doubles()[i];
        }
        double[] full = sums(pairs, 2, lengths, -1);
        int n = (int) dims[rank - 1];
        int kept = n / 2 + 1;
        double[] half = new double[full.length / n * kept];
        for (int line = 0; line < full.length / 2 / n; line++) {
            System.arraycopy(full, 2 * line * n, half, 2 * line * kept, 2 * kept);
        }
        Literal spectrum = Apply.literal(new Fft("RFFT", lengths), x);
        assertClose(spectrum.doubles(), half);
        Literal back = Apply.literal(new Fft("IRFFT", lengths), spectrum);
        assertThat(back.shape()).isEqualTo(x.shape());
        assertClose(back.doubles(), x.doubles());
    }

    /** Of a spectrum that no real line has, what cannot be is not read. */
    @Test
    void imaginaryPartsOfElementsThatAreTheirOwnMirrorAreNotRead() {
        double[] spectrum = {1, 7, 2, 3, 4, -9};
        double[] real = {1, 0, 2, 3, 4, 0};
        ArrayShape shape = ArrayShape.of(DType.C64, 3);
        Fft fft = new Fft("IRFFT", List.of(4L));
        assertThat(Apply.literal(fft, Literal.ofDoubles(shape, spectrum)))
                .isEqualTo(Apply.literal(fft, Literal.ofDoubles(shape, real)));
        // (1 + 4 + 2 Re((2 + 3i) i^n)) / 4 and so on
        assertClose(
                Apply.literal(fft, Literal.ofDoubles(shape, real)).doubles(), new double[] {2.25, -2.25, 0.25, 0.75});
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "x = c64[3,8] parameter(0); y = c64[3,8] fft(x), fft_type=FFT, fft_length={8}",
                "x = c64[2,3,5] parameter(0); y = c64[2,3,5] fft(x), fft_type=IFFT, fft_length={3,5}",
                "x = f32[2,8] parameter(0); y = c64[2,5] fft(x), fft_type=RFFT, fft_length={8}",
                "x = f32[3,7] parameter(0); y = c64[3,4] fft(x), fft_type=RFFT, fft_length={3,7}",
                "x = c64[2,5] parameter(0); y = f32[2,8] fft(x), fft_type=IRFFT, fft_length={8}",
                "x = c64[2,3,4] parameter(0); y = f32[2,3,7] fft(x), fft_type=IRFFT, fft_length={3,7}",
                "x = c64[2,1] parameter(0); y = f32[2,1] fft(x), fft_type=IRFFT, fft_length={1}",
            })
    void gradientsAndSums(String instructions) {
        GradientChecks.checkRoot(Snippet.module(instructions), 5);
        LinearChecks.checkRoot(Snippet.module(instructions), 1, 6);
    }

    @Test
    void linesMayBeCutApart() {
        String hlo = Snippet.module("x = f32[4,6,8] parameter(0); a = c64[4,6,5] fft(x), fft_type=RFFT, fft_length={8};"
                + "b = c64[4,6,5] fft(a), fft_type=FFT, fft_length={6,5}; c = f32[4,6,8] fft(b), fft_type=IRFFT, fft_length={8};"
                + "d = c64[4,6,5] fft(b), fft_type=IFFT, fft_length={5}");
        LocalizeChecks.checkAll(hlo, 8);
        List<Instruction> all = HloReader.read("test", hlo).entry().instructions();
        assertThat(all.stream()
                        .skip(1)
                        .map(i -> i.op().factors(i.operandShapes(), i.shape()).toString()))
                .containsExactly(
                        "(a b c) -> a b d; c whole; d whole",
                        "(a b c) -> a b c; b whole; c whole",
                        "(a b c) -> a b d; c whole; d whole",
                        "(a b c) -> a b c; c whole");
    }

    @Test
    void flops() {
        Fft fft = new Fft("FFT", List.of(4L, 8L));
        ArrayShape x = ArrayShape.of(DType.C64, 3, 4, 8);
        assertThat(fft.flops(List.of(x), x)).isEqualTo(5 * 96 * 5);
        ArrayShape real = ArrayShape.of(DType.F32, 3, 8);
        Fft half = new Fft("RFFT", List.of(8L));
        assertThat(half.flops(List.of(real), half.inferShape(List.of(real)))).isEqualTo(5 * 24 * 3 / 2);
    }

    @ParameterizedTest
    @CsvSource({
        "FFT, f32, 8, must be of c64",
        "RFFT, c64, 8, must be of f32",
        "RFFT, f32, 7, must be 8",
        "IRFFT, c64, 8, must be 5",
    })
    void operandsThatDoNotFit(String type, String dtype, long last, String message) {
        DType given = DType.byHloName(dtype);
        assertThat(given).isNotNull();
        assertThatThrownBy(() -> new Fft(type, List.of(8L)).inferShape(List.of(ArrayShape.of(given, 2, last))))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(message);
    }
}
