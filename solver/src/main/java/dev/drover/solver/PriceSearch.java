package dev.drover.solver;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * Where to ask a concave function next for its maximum over prices from 0 on, when each answer takes hundreds of milliseconds: the bound as
 * a function of one row's price.
 *
 * <pre>
 *   bound
 *      |        x            next: where the lines that bound the function from above meet, left or right of the best answer,
 *      |     o-- --o         whichever is higher there
 *      |   /         \
 *      |  o           o      lines: through two answers, beyond them; and the slope of an answer where it is known
 *      +-------------------- price
 * </pre>
 *
 * Unlike a search by the signs of the slopes, it is not misled by an answer whose slope is wrong, as of a choice that is not quite the
 * cheapest.
 */
final class PriceSearch {
    /** Prices closer together than this part of them are not told apart. */
    private static final double CLOSE = 0.004;

    /** A further price at most, as a multiple of the greatest one, where the slope does not tell. */
    private static final double MOST = 2;

    private final List<Answer> answers = new ArrayList<>();

    /**
     * What the function is at a price.
     *
     * @param slope there, NaN if it is not known
     * @param hint what the slope is thought to be
     */
    private record Answer(double price, double value, double slope, double hint) {
        private double at(double other) {
            return value + slope * (other - price);
        }
    }

    /** Notes the value at a price and the slope there, which is exact or only a hint about the direction. */
    void answer(double price, double value, double slope, boolean exact) {
        answers.add(new Answer(price, value, exact ? slope : Double.NaN, slope));
        answers.sort(Comparator.comparingDouble(Answer::price));
    }

    /**
     * Returns the next price.
     *
     * @param first the price to try after 0
     * @param worth gain below which no further price is worth a try
     * @return the price; NaN if the best one is known well enough
     */
    double next(double first, double worth) {
        int best = 0;
        for (int i = 1; i < answers.size(); i++) {
            best = answers.get(i).value > answers.get(best).value ? i : best;
        }
        Answer top = answers.get(best);
        boolean last = best == answers.size() - 1;
        if (last && top.hint > 0) {
            return top.price == 0 ? first : beyond(top);
        }
        if (best == 0 && top.hint <= 0) {
            return top.price == 0 ? Double.NaN : top.price / 2;
        }
        double[] left = best == 0 ? new double[] {0, Double.NEGATIVE_INFINITY} : meet(best - 1);
        double[] right = last ? new double[] {0, Double.NEGATIVE_INFINITY} : meet(best);
        double[] higher = left[1] >= right[1] ? left : right;
        return higher[1] - top.value > worth ? higher[0] : Double.NaN;
    }

    /** A greater price than all before: where the slope would be 0 if it went on as between the last two, within bounds. */
    private double beyond(Answer last) {
        if (answers.size() < 2) {
            return MOST * last.price;
        }
        Answer before = answers.get(answers.size() - 2);
        double falls = before.hint - last.hint;
        double step = (last.price - before.price) * last.hint / falls;
        return falls > 0 ? Math.min(1.5 * last.price, last.price + 1.2 * step) : MOST * last.price;
    }

    /** Where the lines between an answer and the next one meet, and how high; no height if the answers are too close together. */
    private double[] meet(int i) {
        Answer low = answers.get(i);
        Answer high = answers.get(i + 1);
        double width = high.price - low.price;
        if (width < CLOSE * high.price) {
            return new double[] {low.price, Double.NEGATIVE_INFINITY};
        }
        double rise = slopeAt(i, -1);
        double fall = slopeAt(i + 1, 1);
        Answer rising = new Answer(low.price, low.value, rise, rise);
        Answer falling = new Answer(high.price, high.value, fall, fall);
        double chord = (high.value - low.value) / width;
        double at;
        if (rise == Double.POSITIVE_INFINITY || fall == Double.NEGATIVE_INFINITY || !(rise > chord && fall < chord)) {
            at = (low.price + high.price) / 2;
        } else {
            at = (falling.at(0) - rising.at(0)) / (rise - fall);
        }
        double height = Double.NEGATIVE_INFINITY;
        for (double price : new double[] {low.price, at, high.price}) {
            double under = rise == Double.POSITIVE_INFINITY ? Double.POSITIVE_INFINITY : rising.at(price);
            double over = fall == Double.NEGATIVE_INFINITY ? Double.POSITIVE_INFINITY : falling.at(price);
            height = Math.max(height, Math.min(under, over));
        }
        // Not so near an end that the next answer says nothing new.
        at = Math.max(low.price + CLOSE * width, Math.min(high.price - CLOSE * width, at));
        return new double[] {at, height};
    }

    /** The least steep line over the function from an answer on away from the side: its own slope, or that of the line from beyond it. */
    private double slopeAt(int i, int side) {
        Answer here = answers.get(i);
        if (!Double.isNaN(here.slope)) {
            return here.slope;
        }
        int j = i + side;
        if (j < 0 || j >= answers.size()) {
            return side < 0 ? Double.POSITIVE_INFINITY : Double.NEGATIVE_INFINITY;
        }
        Answer beyond = answers.get(j);
        return (here.value - beyond.value) / (here.price - beyond.price);
    }
}
