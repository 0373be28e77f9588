package dev.drover.solver;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The best prices of very few usage rows, one after the other.
 *
 * <pre>
 *   priced cost
 *      |   above \  / below        above: cheapest choice over the limit, its priced cost rises with the price
 *      |          \/               below: cheapest choice within the limit, its priced cost falls
 *      |          /\
 *      |         /  \              next price: where the two lines meet; best when nothing is cheaper there
 *      +--------------- price
 * </pre>
 *
 * The cheapest choices are those decoded by sweeps of {@link DualBound}. A choice that keeps all rows is made of them: parts of one are
 * put into another, those of the greatest gain for their usage first, as of a knapsack.
 */
final class RowPrices {
    /** Sweeps at one price, and prices of each row. */
    private static final int SWEEPS = 16;

    private static final int PRICES = 12;

    /** Part of the bound that a choice costs more, above which the sweeps are too far from the minimum. */
    private static final double LOOSE = 1e-4;

    /** Part of the bound that a choice costs more at most where its usage is the slope. */
    private static final double EXACT = 1e-8;

    /** Part of the bound that a further price must promise. */
    private static final double WORTH = 1e-6;

    /** How far above the bound the priced cost of choices is that are of no use for mixtures, as a part of it. */
    private static final double FAR_LINE = 4e-4;

    /** The first price is so many times smaller where each price is asked for anew: low prices take few sweeps. */
    private static final double SMALL = 16;

    /** Entries of all matrices above which sweeps at each price are not even tried. */
    private static final long MOST_ENTRIES = 1_000_000;

    /** Part of the bound that these may stay below it. */
    private static final double NEAR = 1e-7;

    private static final double FAR = 3e-6;

    /** Sweeps at the best price at last, where it was found without them. */
    private static final int LAST_SWEEPS = 400;

    private final Core core;
    private final DualBound dual;
    private final Incumbent incumbent;
    private final Budget budget;
    private final BooleanSupplier stop;
    private final boolean dominating;

    /** The cheapest choice known that keeps the rows. */
    private int @Nullable [] keeps;

    /** Choices of the least priced cost at the prices tried, the latest first. */
    private final ArrayDeque<int[]> cheapest = new ArrayDeque<>();

    private double looseness;

    /** The bound at the latest prices. */
    private double latestBound;

    /** Whether minima are found on cores of their own, because sweeps on this one take too long to get there. */
    private boolean apart;

    private double bestBound = Double.NEGATIVE_INFINITY;
    private double[] bestPrice;

    /** Takes the core of few rows and the incumbent of the whole one, whose bound rises with this one's. */
    RowPrices(Core core, Incumbent incumbent, boolean dominating, Budget budget, BooleanSupplier stop) {
        this.core = core;
        this.dominating = dominating;
        this.bestPrice = new double[core.rows];
        this.apart = core.rows > 0
                && Arrays.stream(core.edgeCost)
                                .mapToLong(matrix -> matrix.length)
                                .sum()
                        > MOST_ENTRIES;
        this.dual = new DualBound(core, budget);
        this.incumbent = incumbent;
        this.budget = budget;
        this.stop = stop;
    }

    /** The bound with its prices and messages. */
    DualBound dual() {
        return dual;
    }

    /** The best bound of all prices. */
    double bound() {
        return Math.max(bestBound, dual.best());
    }

    /** A choice of about the least priced cost at the latest prices. */
    int[] latest() {
        return cheapest.isEmpty() ? new int[core.size] : cheapest.getFirst();
    }

    /** Choices that cost little more than the bound at the best prices, and the cheapest ones there over the limits and within them. */
    List<int[]> near() {
        double[] price = apart ? bestPrice : dual.bestPrice();
        double limit = bound() + FAR_LINE * Math.abs(bound());
        List<int[]> near = new ArrayList<>();
        int[][] nearest = new int[2][];
        double[] least = {Double.POSITIVE_INFINITY, Double.POSITIVE_INFINITY};
        for (int[] x : cheapest) {
            double cost = priced(core.cost(x), core.usage(x), price, -1);
            if (cost <= limit) {
                near.add(x);
            }
            int side = core.fits(x) ? 0 : 1;
            if (cost < least[side]) {
                least[side] = cost;
                nearest[side] = x;
            }
        }
        for (int side = 0; side < 2; side++) {
            if (least[side] > limit && nearest[side] != null) {
                near.add(nearest[side]);
            }
        }
        return near;
    }

    /** The cheapest choice found that keeps the rows of this core, null if there is none. */
    int @Nullable [] keeps() {
        return keeps;
    }

    /** How far the bound was below the least priced cost of a choice at the latest prices, as a part of it. */
    double looseness() {
        return looseness;
    }

    /**
     * Finds prices and choices.
     *
     * @param hint about the price of the last row, if it is the price of another row that was tried before; 0 if none was
     */
    void find(double hint) {
        double[] price = new double[core.rows];
        if (core.rows == 1) {
            price[0] = hint;
        }
        if (core.rows == 0) {
            sweeps();
        }
        for (int pass = 0; pass < Math.min(2, core.rows); pass++) {
            for (int r = 0; r < core.rows && !stop.getAsBoolean(); r++) {
                price(r, price);
            }
        }
        for (int[] other : cheapest) {
            mix(other);
        }
        if (apart) {
            dual.moveTo(bestPrice);
            double near = Math.max(
                    NEAR * Math.abs(bestBound), Math.min(FAR * Math.abs(bestBound), 0.1 * (costOf(keeps) - bestBound)));
            double before = Double.NEGATIVE_INFINITY;
            for (int i = 0; i < LAST_SWEEPS && !stop.getAsBoolean(); i++) {
                double bound = dual.sweep();
                budget.spend(dual.entriesPerSweep());
                dual.keep(bound);
                if (bound >= bestBound - near || bound - before < 1e-3 * (bestBound - bound)) {
                    break;
                }
                before = bound;
            }
        }
    }

    private void price(int r, double[] price) {
        PriceSearch search = new PriceSearch();
        double next = price[r];
        for (int step = 0; step < PRICES && !Double.isNaN(next) && !stop.getAsBoolean(); step++) {
            price[r] = next;
            Line line = line(r, cheapest(price), price);
            search.answer(next, latestBound, line.excess, looseness <= EXACT);
            next = search.next(firstPrice(line), WORTH * Math.abs(bound()) + 0.5);
        }
        System.arraycopy(apart ? bestPrice : dual.bestPrice(), 0, price, 0, price.length);
    }

    /** The cheapest choice at some prices: by sweeps, or apart from the point on where these do not get near. */
    private int[] cheapest(double[] price) {
        if (!apart) {
            dual.moveTo(price);
            int[] swept = sweeps();
            if (looseness <= LOOSE) {
                return swept;
            }
            apart = true;
        }
        PricedMinimum minimum = PricedMinimum.find(core, price, dominating, budget);
        if (minimum == null) {
            return latest();
        }
        int[] x = minimum.choice();
        cheapest.addFirst(x);
        double cost = core.cost(x);
        if (cost < costOf(keeps) && core.fits(x)) {
            keeps = x;
        }
        double least = priced(cost, core.usage(x), price, -1);
        latestBound = minimum.bound();
        looseness = (least - minimum.bound()) / Math.max(1, Math.abs(minimum.bound()));
        if (minimum.bound() > bestBound) {
            bestBound = minimum.bound();
            bestPrice = price.clone();
        }
        return x;
    }

    /** A price at which the choice at hand costs as much as the best one known, were that just within the limit. */
    private double firstPrice(Line line) {
        double gap = incumbent.cost() - line.cost;
        return (gap > 0 && gap < Double.POSITIVE_INFINITY ? gap : Math.abs(line.cost) + 1)
                / ((apart ? SMALL : 1) * line.excess);
    }

    /** The priced cost of one choice as a function of one row's price. */
    private record Line(double cost, double excess) {}

    private Line line(int r, int[] x, double[] price) {
        long[] usage = core.usage(x);
        return new Line(priced(core.cost(x), usage, price, r), usage[r] - core.limit[r]);
    }

    /** A cost with the excess at these prices, but for one row. */
    private double priced(double cost, long[] usage, double[] price, int without) {
        double priced = cost;
        for (int q = 0; q < core.rows; q++) {
            priced += q == without ? 0 : price[q] * (usage[q] - core.limit[q]);
        }
        return priced;
    }

    /** Sweeps at the present prices until the bound stands; returns the decoded choice of the least priced cost. */
    private int[] sweeps() {
        int[] best = new int[core.size];
        double least = Double.POSITIVE_INFINITY;
        double before = Double.NEGATIVE_INFINITY;
        for (int i = 0; i < SWEEPS; i++) {
            double bound = dual.sweep();
            budget.spend(dual.entriesPerSweep());
            dual.keep(bound);
            for (int[] x : List.of(dual.decoded, dual.decodedDown)) {
                double cost = core.cost(x);
                double priced = priced(cost, core.usage(x), dual.price, -1);
                if (priced < least) {
                    least = priced;
                    best = x.clone();
                }
                if (cost < costOf(keeps) && core.fits(x)) {
                    keeps = x.clone();
                }
            }
            boolean stands = bound >= least - 0.5 || bound - before < 1e-3 * (least - bound);
            before = bound;
            if (i > 0 && stands) {
                break;
            }
        }
        cheapest.addFirst(best);
        latestBound = before;
        looseness = (least - before) / Math.max(1, Math.abs(before));
        return best;
    }

    private double costOf(int @Nullable [] x) {
        return x == null ? Double.POSITIVE_INFINITY : core.cost(x);
    }

    /** Takes what is cheaper in another choice into the one that keeps the rows, as far as it still does. */
    private void mix(int[] other) {
        int[] x = keeps;
        if (x == null) {
            return;
        }
        double cost = core.cost(x);
        long used = sum(core.usage(x));
        List<Part> parts = new ArrayList<>();
        for (int[] variables : parts(x, other)) {
            int[] changed = changed(x, other, variables);
            double gain = cost - core.cost(changed);
            if (gain > 0) {
                long more = sum(core.usage(changed)) - used;
                parts.add(new Part(variables, more <= 0 ? Double.POSITIVE_INFINITY : gain / more));
            }
        }
        parts.sort(Comparator.comparingDouble((Part part) -> -part.worth));
        for (Part part : parts) {
            int[] changed = changed(x, other, part.variables);
            if (core.fits(changed) && core.cost(changed) < core.cost(x)) {
                x = changed;
            }
        }
        keeps = x;
    }

    private static long sum(long[] usage) {
        long sum = 0;
        for (long u : usage) {
            sum += u;
        }
        return sum;
    }

    private static int[] changed(int[] x, int[] other, int[] variables) {
        int[] changed = x.clone();
        for (int v : variables) {
            changed[v] = other[v];
        }
        return changed;
    }

    /** Variables that take other values together, and the gain for each unit of usage. */
    private static final class Part {
        private final int[] variables;
        private final double worth;

        Part(int[] variables, double worth) {
            this.variables = variables;
            this.worth = worth;
        }
    }

    /** The connected parts of the variables at which two choices differ. */
    private List<int[]> parts(int[] x, int[] other) {
        List<int[]> parts = new ArrayList<>();
        boolean[] seen = new boolean[core.size];
        ArrayDeque<Integer> work = new ArrayDeque<>();
        for (int v = 0; v < core.size; v++) {
            if (seen[v] || x[v] == other[v]) {
                continue;
            }
            List<Integer> part = new ArrayList<>();
            work.add(v);
            seen[v] = true;
            while (!work.isEmpty()) {
                int u = work.poll();
                part.add(u);
                for (int e : core.incident[u]) {
                    int w = core.other(e, u);
                    if (!seen[w] && x[w] != other[w]) {
                        seen[w] = true;
                        work.add(w);
                    }
                }
            }
            parts.add(part.stream().mapToInt(Integer::intValue).toArray());
        }
        return parts;
    }
}
