package dev.drover.report;

import java.util.List;
import java.util.Locale;

/** A quantity by step, with axes. */
final class CurveFigure {
    private static final int WIDTH = 960;
    private static final int HEIGHT = 200;
    private static final int LEFT = 64;
    private static final int RIGHT = 12;
    private static final int TOP = 10;
    private static final int BOTTOM = 34;

    private CurveFigure() {}

    /**
     * The figure.
     *
     * @param first number of the step of the first value
     * @param fromZero whether the vertical axis begins at 0
     * @param reference a horizontal line, such as what was predicted; NaN for none
     */
    static String of(
            String title, long first, List<Double> values, boolean fromZero, double reference, String referenceName) {
        double low = fromZero ? 0 : Double.POSITIVE_INFINITY;
        double high = Double.NEGATIVE_INFINITY;
        for (double value : values) {
            if (Double.isFinite(value)) {
                low = Math.min(low, value);
                high = Math.max(high, value);
            }
        }
        if (Double.isFinite(reference)) {
            low = Math.min(low, reference);
            high = Math.max(high, reference);
        }
        if (high == Double.NEGATIVE_INFINITY) {
            return "";
        }
        double margin = high > low ? (high - low) * 0.05 : Math.max(1e-9, Math.abs(high) * 0.05);
        low = fromZero ? low : low - margin;
        high += margin;
        StringBuilder svg = new StringBuilder();
        svg.append(String.format(
                Locale.ROOT,
                "<figure><figcaption>%s</figcaption><svg viewBox='0 0 %d %d' role=img aria-label='%s'>",
                Html.escape(title),
                WIDTH,
                HEIGHT,
                Html.escape(title)));
        Ticks ticks = Ticks.of(low, high, 5);
        for (double tick : ticks.values()) {
            double y = y(tick, low, high);
            svg.append(String.format(
                    Locale.ROOT,
                    "<line x1=%d y1=%.1f x2=%d y2=%.1f class=grid /><text x=%d y=%.1f text-anchor=end>%s</text>",
                    LEFT,
                    y,
                    WIDTH - RIGHT,
                    y,
                    LEFT - 6,
                    y + 4,
                    ticks.text(tick)));
        }
        int count = values.size();
        long last = first + count - 1;
        Ticks steps = Ticks.of((double) first, (double) Math.max(first + 1, last), Math.min(10, Math.max(1, count)));
        for (double tick : steps.values()) {
            if (tick == Math.rint(tick) && tick >= first && tick <= last) {
                svg.append(String.format(
                        Locale.ROOT,
                        "<text x=%.1f y=%d text-anchor=middle>%d</text>",
                        x((int) (tick - first), count),
                        HEIGHT - 20,
                        (long) tick));
            }
        }
        svg.append(String.format(
                Locale.ROOT,
                "<text x=%d y=%d text-anchor=middle>step</text><line x1=%d y1=%d x2=%d y2=%d class=axis />"
                        + "<line x1=%d y1=%d x2=%d y2=%d class=axis />",
                (LEFT + WIDTH - RIGHT) / 2,
                HEIGHT - 4,
                LEFT,
                TOP,
                LEFT,
                HEIGHT - BOTTOM,
                LEFT,
                HEIGHT - BOTTOM,
                WIDTH - RIGHT,
                HEIGHT - BOTTOM));
        if (Double.isFinite(reference)) {
            double y = y(reference, low, high);
            svg.append(String.format(
                    Locale.ROOT,
                    "<line x1=%d y1=%.1f x2=%d y2=%.1f class=reference /><text x=%d y=%.1f text-anchor=end>%s</text>",
                    LEFT,
                    y,
                    WIDTH - RIGHT,
                    y,
                    WIDTH - RIGHT,
                    y - 4,
                    Html.escape(referenceName)));
        }
        StringBuilder points = new StringBuilder();
        for (int i = 0; i < count; i++) {
            if (Double.isFinite(values.get(i))) {
                points.append(String.format(Locale.ROOT, "%.1f,%.1f ", x(i, count), y(values.get(i), low, high)));
            }
        }
        return svg.append("<polyline points='")
                .append(points)
                .append("' class=curve /></svg></figure>")
                .toString();
    }

    private static double x(int index, int count) {
        return LEFT + (WIDTH - LEFT - RIGHT) * (double) index / Math.max(1, count - 1);
    }

    private static double y(double value, double low, double high) {
        return TOP + (HEIGHT - TOP - BOTTOM) * (high - value) / (high - low);
    }
}
