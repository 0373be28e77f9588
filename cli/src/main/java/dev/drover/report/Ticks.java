package dev.drover.report;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Round numbers along an axis: at most {@code most} of them, 1, 2 or 5 times a power of ten apart. */
record Ticks(double low, double high, double step) {

    static Ticks of(double low, double high, int most) {
        double span = high - low;
        if (!(span > 0) || !Double.isFinite(span)) {
            return new Ticks(low, low + 1, 1);
        }
        double step = Math.pow(10, Math.floor(Math.log10(span / most)));
        for (double factor : new double[] {1, 2, 5, 10}) {
            if (span / (step * factor) <= most) {
                return new Ticks(low, high, step * factor);
            }
        }
        return new Ticks(low, high, step * 10);
    }

    List<Double> values() {
        List<Double> values = new ArrayList<>();
        for (long i = (long) Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) {
            values.add(i * step);
        }
        return values;
    }

    /** As many digits as the step needs. */
    String text(double value) {
        int digits = (int) Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));
        return String.format(Locale.ROOT, "%." + digits + "f", value);
    }
}
