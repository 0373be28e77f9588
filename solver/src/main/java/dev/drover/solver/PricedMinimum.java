package dev.drover.solver;

import java.util.Arrays;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/**
 * The cheapest choice at given prices of the usage rows, without their limits: a problem without usage, of which the {@link Condenser}
 * leaves far less than of the one with rows, so that a few sweeps find its minimum where they would need hundreds.
 */
final class PricedMinimum {
    /** Prices count in multiples of this: sums of them and of whole costs are exact, and equal layers stay equal. */
    private static final double QUANTUM = 1.0 / 4096;

    /** Sweeps at most, and after how many of them they must have gained a part of the bound to go on. */
    private static final int SWEEPS = 96;

    private static final int PATIENCE = 8;
    private static final double WORTH = 2e-6;

    /** Part of the bound that the best choice may cost more for values to go: else hardly any do. */
    private static final double NEAR = 1e-4;

    /** Rounds of sweeps after which values go, and entries of tables of exact elimination at first. */
    private static final int ROUNDS = 4;

    private static final int MOST_ENTRIES = 1 << 18;
    private static final long MOST_TOTAL_ENTRIES = 1 << 24;

    private final int variables;
    private final double atLimit;
    private final boolean dominating;
    private final Budget budget;
    private final int mostEntries;
    private double bound = Double.NEGATIVE_INFINITY;
    private double least = Double.POSITIVE_INFINITY;
    private int[] choice;

    private PricedMinimum(int variables, double atLimit, boolean dominating, Budget budget, int mostEntries) {
        this.mostEntries = mostEntries;
        this.variables = variables;
        this.atLimit = atLimit;
        this.dominating = dominating;
        this.budget = budget;
        this.choice = new int[variables];
    }

    /** No choice costs less at these prices; the prices of the limits are taken off. */
    double bound() {
        return bound - atLimit;
    }

    /** The cheapest choice found, of about the bound's cost. */
    int[] choice() {
        return choice;
    }

    /** Searches; null if there is no choice at all. */
    static @Nullable PricedMinimum find(Core core, double[] price, boolean dominating, Budget budget) {
        return find(core, price, dominating, budget, MOST_ENTRIES);
    }

    /** Searches with the entries of a table of exact elimination at first, twice as many in each round. */
    static @Nullable PricedMinimum find(Core core, double[] price, boolean dominating, Budget budget, int mostEntries) {
        double[][] theta = core.priced(price);
        for (double[] row : theta) {
            for (int k = 0; k < row.length; k++) {
                row[k] = Math.floor(row[k] / QUANTUM) * QUANTUM;
            }
        }
        int[][] none = new int[core.size][0];
        Core free = new Core(
                core.constant,
                theta,
                core.edgeA,
                core.edgeB,
                core.edgeCost,
                new UsageRows(new long[0], new TimeSpan[0], none, none, new long[core.size][0][], -1),
                int[]::clone);
        Core small = Condenser.condense(free, dominating, budget).core();
        if (small == null) {
            return null;
        }
        PricedMinimum search = new PricedMinimum(core.size, core.atLimit(price), dominating, budget, mostEntries);
        search.run(small);
        return search;
    }

    private void run(Core first) {
        Core small = first;
        if (small.size > 0) {
            int[] x = FirstChoice.find(small, budget);
            if (x != null) {
                offer(small, x);
            }
        }
        for (int round = 0; !proven(); round++) {
            if (small.size == 0) {
                offer(small, new int[0]);
                bound = least;
                return;
            }
            Elimination tree = Elimination.whole(
                    small, mostEntries << round, MOST_TOTAL_ENTRIES << round, new SplittableRandom(round), budget);
            budget.spend(100L * small.size);
            if (tree != null) {
                int[] x = new int[small.size];
                tree.minimize(small.unary, x);
                budget.spend(tree.entries());
                offer(small, x);
                // Only choices that are not cheaper than the best one known were left out.
                bound = least;
                return;
            }
            if (round == ROUNDS) {
                return;
            }
            DualBound dual = new DualBound(small, budget);
            sweeps(dual, small);
            if (proven() || least - bound > NEAR * Math.abs(bound)) {
                return;
            }
            boolean[][] keep = dual.worthKeeping(least, dual.decoded);
            budget.spend(7 * dual.entriesPerSweep());
            if (count(keep) > 0.9 * Arrays.stream(small.domain).sum()) {
                return;
            }
            Core fewer =
                    Condenser.condense(small.restrict(keep), dominating, budget).core();
            if (fewer == null) {
                bound = least;
                return;
            }
            small = fewer;
        }
    }

    private static int count(boolean[][] keep) {
        int count = 0;
        for (boolean[] row : keep) {
            for (boolean k : row) {
                count += k ? 1 : 0;
            }
        }
        return count;
    }

    private boolean proven() {
        return bound >= least - 0.5;
    }

    private void offer(Core small, int[] x) {
        double cost = small.cost(x);
        if (cost < least) {
            least = cost;
            choice = Arrays.copyOf(small.expansion().strategies(x), variables);
        }
    }

    private void sweeps(DualBound dual, Core small) {
        double[] bounds = new double[SWEEPS];
        for (int i = 0; i < SWEEPS && !proven() && !budget.over(); i++) {
            bounds[i] = dual.sweep();
            budget.spend(dual.entriesPerSweep());
            dual.keep(bounds[i]);
            bound = Math.max(bound, Math.min(bounds[i], least));
            offer(small, dual.decoded);
            offer(small, dual.decodedDown);
            if (i >= PATIENCE && bounds[i] - bounds[i - PATIENCE] < WORTH * Math.abs(bounds[i])) {
                return;
            }
        }
    }
}
