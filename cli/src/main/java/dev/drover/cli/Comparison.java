package dev.drover.cli;

import dev.drover.ir.eval.Literal;
import dev.drover.ir.type.DType;
import java.util.List;
import java.util.Locale;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * How outputs differ from those expected. The error of an element is its difference over the largest magnitude of its output (at least
 * the smallest normal number): small elements of a sum are not exact anywhere.
 *
 * @param compared number of outputs
 * @param worst largest error of all elements but the sensitive ones
 * @param sensitive elements beyond the tolerance that rounding alone moves as far ({@link RoundingSpread})
 * @param worstSensitive the largest error of these
 * @param noNumbers elements that are the same infinity or NaN in both, which says little
 * @param firstWrong the first output beyond its type's tolerance, or null
 */
record Comparison(
        int compared,
        double worst,
        long sensitive,
        double worstSensitive,
        long noNumbers,
        @Nullable Wrong firstWrong) {
    static final Comparison NONE = new Comparison(0, 0, 0, 0, 0, null);

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

    /** One line's worth: the worst error and what is left out of it. */
    String errors() {
        String text = String.format(Locale.ROOT, "worst relative error %.3g", worst);
        if (sensitive > 0) {
            text += String.format(
                    Locale.ROOT,
                    " but for %d element%s that rounding alone moves as far (up to %.3g)",
                    sensitive,
                    sensitive == 1 ? "" : "s",
                    worstSensitive);
        }
        if (noNumbers > 0) {
            text += String.format(
                    Locale.ROOT, "; %d element%s NaN or infinite in both", noNumbers, noNumbers == 1 ? " is" : "s are");
        }
        return text;
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

    /**
     * Compares output by output.
     *
     * @param rounding asked only where an element is beyond its type's tolerance, for more draws before one is called wrong
     */
    static Comparison of(List<Literal> got, List<Literal> expected, RoundingSpread rounding) {
        Comparison few = of(got, expected, () -> rounding.atLeast(RoundingSpread.FIRST_DRAWS));
        return few.equal() ? few : of(got, expected, () -> rounding.atLeast(RoundingSpread.MOST_DRAWS));
    }

    private static Comparison of(List<Literal> got, List<Literal> expected, Supplier<RoundingSpread> rounding) {
        Comparison all = NONE;
        for (int output = 0; output < expected.size(); output++) {
            all = all.and(of(output, got.get(output), expected.get(output), rounding));
        }
        return all;
    }

    private static Comparison of(int output, Literal found, Literal wanted, Supplier<RoundingSpread> rounding) {
        double scale = Double.MIN_NORMAL;
        for (int i = 0; i < wanted.size(); i++) {
            double magnitude = Math.abs(wanted.asDouble(i));
            if (Double.isFinite(magnitude)) {
                scale = Math.max(scale, magnitude);
            }
        }
        double tolerance = tolerance(wanted.dtype());
        double worst = 0;
        long sensitive = 0;
        double worstSensitive = 0;
        Wrong wrong = null;
        Wrong suspect = null;
        long missed = 0;
        double worstMissed = 0;
        long noNumbers = 0;
        for (int i = 0; i < wanted.size(); i++) {
            double a = found.asDouble(i);
            double b = wanted.asDouble(i);
            noNumbers += !Double.isFinite(b) && Double.compare(a, b) == 0 ? 1 : 0;
            double error = Double.compare(a, b) == 0 ? 0 : Math.abs(a - b) / scale;
            if (error > tolerance
                    && error * scale <= tolerance * scale + rounding.get().allowed(output, i)) {
                sensitive++;
                worstSensitive = Math.max(worstSensitive, error);
                continue;
            }
            if (error > tolerance
                    && error * scale <= tolerance * scale + rounding.get().most(output)) {
                missed++;
                worstMissed = Math.max(worstMissed, error);
                suspect = suspect == null ? new Wrong(output, i, b, a, error, tolerance) : suspect;
                continue;
            }
            worst = Math.max(worst, Double.isNaN(error) ? Double.POSITIVE_INFINITY : error);
            if (!(error <= tolerance)) {
                wrong = wrong == null ? new Wrong(output, i, b, a, error, tolerance) : wrong;
            }
        }
        if (missed > 0 && missed <= rounding.get().missed(output, tolerance * scale)) {
            sensitive += missed;
            worstSensitive = Math.max(worstSensitive, worstMissed);
        } else if (missed > 0) {
            worst = Math.max(worst, worstMissed);
            wrong = wrong == null ? suspect : wrong;
        }
        return new Comparison(1, worst, sensitive, worstSensitive, noNumbers, wrong);
    }

    Comparison and(Comparison other) {
        return new Comparison(
                compared + other.compared,
                Math.max(worst, other.worst),
                sensitive + other.sensitive,
                Math.max(worstSensitive, other.worstSensitive),
                noNumbers + other.noNumbers,
                firstWrong != null ? firstWrong : other.firstWrong);
    }
}
