package dev.drover.ir.ops;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.ir.eval.Evaluator;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.text.HloReader;
import dev.drover.ir.type.DType;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Objects;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Elementwise and shape ops on values at the edges (zeros of both signs, infinities, NaN, the least and largest integers, shifts
 * beyond the width), against what XLA computed for the same text: JAX 0.10.2, CPU, one line of the {@code .txt} for each result.
 *
 * <p>Left out, because XLA's own ways differ by mistake or by design: powers of integers that overflow, leading zeros of negative
 * integers in its constant folding. {@code -0} must be written {@code -0.0}: XLA reads the former as an integer.
 */
final class XlaValuesTest {

    @ParameterizedTest
    @ValueSource(strings = {"f32", "bf16", "s8", "s32", "u32", "pred", "c64", "shape"})
    void sameAsXla(String name) throws IOException {
        Computation computation = HloReader.read(name, resource(name + ".hlo")).entry();
        Instruction root = computation.root();
        List<Literal> results = ((Value.Tuple) Evaluator.evaluate(computation, List.of()))
                .elements().stream().map(Value::literal).toList();
        String[] lines = resource(name + ".txt").split("\n", -1);
        assertThat(lines).hasSize(results.size() + 1);
        for (int r = 0; r < results.size(); r++) {
            Literal got = results.get(r);
            String[] expected = lines[r].split(" ", -1);
            assertThat(Math.max(got.doubles().length, got.longs().length)).isEqualTo(expected.length);
            double modulus = got.dtype().isComplex() ? largest(expected) : 0;
            for (int i = 0; i < expected.length; i++) {
                String label = name + ": element " + i + " of " + root.operand(r);
                if (got.longs().length > 0) {
                    assertThat(got.longs()[i]).as(label).isEqualTo(Long.parseLong(expected[i]));
                } else {
                    close(got.dtype(), got.doubles()[i], Double.parseDouble(expected[i]), modulus, label);
                }
            }
        }
    }

    private static void close(DType dtype, double got, double wanted, double modulus, String label) {
        if (Double.isFinite(wanted) && Double.isFinite(got) && got != wanted) {
            // Two units in the last place; of complex numbers, of the largest in the array (XLA uses f32 throughout).
            double unit = switch (dtype) {
                case F64 -> 0x1p-51;
                case F32 -> 0x1p-22;
                case F16 -> 0x1p-9;
                case C64 -> 0x1p-18;
                default -> 0x1p-7;
            };
            double size = Math.max(Math.abs(wanted), modulus);
            assertThat(Math.abs(got - wanted))
                    .as(label + ": " + got + ", not " + wanted)
                    .isLessThanOrEqualTo(unit * size);
        } else if (dtype.isComplex()) {
            assertThat(got + 0.0).as(label).isEqualTo(wanted + 0.0);
        } else {
            // Boxed: NaN equals NaN, and zeros differ by sign.
            assertThat(Double.valueOf(got)).as(label).isEqualTo(Double.valueOf(wanted));
        }
    }

    private static double largest(String[] values) {
        double largest = 0;
        for (String value : values) {
            largest = Math.max(largest, Math.abs(Double.parseDouble(value)));
        }
        return largest;
    }

    private static String resource(String name) throws IOException {
        try (InputStream in = Objects.requireNonNull(XlaValuesTest.class.getResourceAsStream("xla/" + name))) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
    }
}
