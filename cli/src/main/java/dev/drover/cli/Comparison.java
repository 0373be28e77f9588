package dev.drover.cli;

import dev.drover.ir.eval.Literal;
import dev.drover.ir.type.DType;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * How outputs differ from those expected. The error of an element is its difference over the largest magnitude of its output (at least
 * the smallest normal number): small elements of a sum are not exact anywhere.
 *
 * @param compared number of outputs
 * @param worst largest error
 * @param firstWrong the first output beyond its type's tolerance, or null
 */
record Comparison(int compared, double worst, @Nullable Wrong firstWrong) {

    /** An element that is wrong. */
    record Wrong(int output, int element, double expected, double got, double error, double tolerance) {
        String text() {
            return String.format(
                    Locale.ROOT,
                    "output %d is the first wrong one: element %d is %.9g and should be %.9g (error %.3g, allowed %.3g)",
                    output,
                    element,
                    got,
                    expected,
                    error,
                    tolerance);
        }
    }

    boolean equal() {
        return firstWrong == null;
    }

    /**
     * What an element type allows: sums in another order differ by some units of the last place, and optimizers such as Adam divide
     * small gradients by their own size, which makes much of them.
     */
    static double tolerance(DType dtype) {
        return switch (dtype) {
            case F64 -> 1e-8;
            case F32, C64 -> 5e-4;
            case BF16, F16 -> 4e-2;
            case F8E4M3FN, F8E5M2 -> 0.3;
            default -> 0;
        };
    }

    static Comparison of(List<Literal> got, List<Literal> expected) {
        double worst = 0;
        Wrong first = null;
        for (int output = 0; output < expected.size(); output++) {
            Literal wanted = expected.get(output);
            Literal found = got.get(output);
            double scale = Double.MIN_NORMAL;
            for (int i = 0; i < wanted.size(); i++) {
                double magnitude = Math.abs(wanted.asDouble(i));
                if (Double.isFinite(magnitude)) {
                    scale = Math.max(scale, magnitude);
                }
            }
            double tolerance = tolerance(wanted.dtype());
            for (int i = 0; i < wanted.size(); i++) {
                double a = found.asDouble(i);
                double b = wanted.asDouble(i);
                double error = Double.compare(a, b) == 0 ? 0 : Math.abs(a - b) / scale;
                boolean wrong = !(error <= tolerance);
                worst = Math.max(worst, Double.isNaN(error) ? Double.POSITIVE_INFINITY : error);
                if (wrong && first == null) {
                    first = new Wrong(output, i, b, a, error, tolerance);
                }
            }
        }
        return new Comparison(expected.size(), worst, first);
    }

    Comparison and(Comparison other) {
        return new Comparison(
                compared + other.compared,
                Math.max(worst, other.worst),
                firstWrong != null ? firstWrong : other.firstWrong);
    }
}
