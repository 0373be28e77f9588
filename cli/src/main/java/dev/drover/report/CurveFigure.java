package dev.drover.report;

import java.util.List;
import java.util.Locale;

/** A quantity by step, with axes. */
final class CurveFigure {
    private static final int WIDTH = 960;
    private static final int HEIGHT = 200;
    private static final int LEFT = 64;
    /** Room for the name of the reference, over which no curve goes. */
    private static final int RIGHT = 72;

    private static final int TOP = 10;
    private static final int BOTTOM = 34;
    /** Times the median from which on a value, such as the first step's, would flatten all others. */
    private static final double FAR = 3;

    private CurveFigure() {}

    /**
     * The figure. What is no number leaves a gap, and what is far above the others may leave the figure; a note says so.
     *
     * @param first number of the step of the first value
     * @param fromZero whether the vertical axis begins at 0, and ends below values that are far above the others
     * @param reference a horizontal line, such as what was predicted; NaN for none
     */
    static String of(
            String title, long first, List<Double> values, boolean fromZero, double reference, String referenceName) {
        List<Double> finite = values.stream().filter(Double::isFinite).sorted().toList();
        String caption = "<figure><figcaption>" + Html.escape(title) + "</figcaption>";
        String note = noNumbers(first, values);
        if (finite.isEmpty()) {
            return note.isEmpty() ? "" : caption + note + "</figure>";
        }
        double most = fromZero ? FAR * finite.get(finite.size() / 2) : Double.POSITIVE_INFINITY;
        double low = fromZero ? 0 : finite.get(0);
        double high = finite.stream()
                .filter(value -> value <= most)
                .mapToDouble(v -> v)
                .max()
                .orElse(most);
        if (Double.isFinite(reference)) {
            low = Math.min(low, reference);
            high = Math.max(high, reference);
        }
        double margin = high > low ? (high - low) * 0.05 : Math.max(1e-9, Math.abs(high) * 0.05);
        low = fromZero ? low : low - margin;
        high += margin;
        StringBuilder svg = new StringBuilder();
        svg.append(String.format(
                Locale.ROOT,
                "%s<svg viewBox='0 0 %d %d' role=img aria-label='%s'>",
                caption,
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
                    "<line x1=%d y1=%.1f x2=%d y2=%.1f class=reference /><text x=%d y=%.1f>%s</text>",
                    LEFT,
                    y,
                    WIDTH - RIGHT,
                    y,
                    WIDTH - RIGHT + 6,
                    y + 4,
                    Html.escape(referenceName)));
        }
        return svg.append(curve(values, low, high))
                .append("</svg>")
                .append(note)
                .append(cutOff(first, values, high))
                .append("</figure>")
                .toString();
    }

    /** Lines through values that follow each other, and dots for those that stand alone. */
    private static String curve(List<Double> values, double low, double high) {
        StringBuilder svg = new StringBuilder();
        int count = values.size();
        for (int begin = 0, end; begin < count; begin = end + 1) {
            end = begin;
            StringBuilder points = new StringBuilder();
            while (end < count && Double.isFinite(values.get(end))) {
                points.append(String.format(
                        Locale.ROOT, "%.1f,%.1f ", x(end, count), y(Math.min(values.get(end), high), low, high)));
                end++;
            }
            if (end == begin + 1) {
                svg.append(String.format(
                        Locale.ROOT,
                        "<circle cx=%.1f cy=%.1f r=3 class=dot />",
                        x(begin, count),
                        y(Math.min(values.get(begin), high), low, high)));
            } else if (end > begin) {
                svg.append("<polyline points='").append(points).append("' class=curve />");
            }
        }
        return svg.toString();
    }

    /** Where values are no numbers. */
    private static String noNumbers(long first, List<Double> values) {
        int begin = 0;
        while (begin < values.size() && Double.isFinite(values.get(begin))) {
            begin++;
        }
        if (begin == values.size()) {
            return "";
        }
        List<Double> rest = values.subList(begin, values.size());
        long missing = rest.stream().filter(value -> !Double.isFinite(value)).count();
        String what =
                rest.stream().anyMatch(value -> Double.isInfinite(value)) ? "Infinite or not a number" : "Not a number";
        return "<p class=note>" + what
                + (missing == rest.size()
                        ? " from step " + (first + begin) + "."
                        : " at " + missing + (missing == 1 ? " step" : " steps, first at step") + " " + (first + begin)
                                + ".")
                + "</p>";
    }

    /** Which values leave the figure. */
    private static String cutOff(long first, List<Double> values, double high) {
        double highest = values.stream()
                .filter(Double::isFinite)
                .mapToDouble(v -> v)
                .max()
                .orElse(high);
        if (highest <= high) {
            return "";
        }
        long count = values.stream()
                .filter(value -> Double.isFinite(value) && value > high)
                .count();
        String at = "step " + (first + values.indexOf(highest));
        return String.format(
                Locale.ROOT,
                "<p class=note>Cut off at the top: %s, %.1f.</p>",
                count == 1 ? at : count + " steps, the highest of them " + at,
                highest);
    }

    private static double x(int index, int count) {
        return LEFT + (WIDTH - LEFT - RIGHT) * (double) index / Math.max(1, count - 1);
    }

    private static double y(double value, double low, double high) {
        return TOP + (HEIGHT - TOP - BOTTOM) * (high - value) / (high - low);
    }
}
