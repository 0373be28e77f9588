package dev.drover.solver;

import dev.drover.solver.SolveOptions.Technique;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Solves a core whose many usage rows come down to a few: what is proven with only some of the rows holds with all of them.
 *
 * <pre>
 *   rows {}    --cheapest choice--&gt;           it overfills row r most
 *   rows {r}   --price ({@link RowPrices})--&gt;       a bound, and a choice that keeps r but overfills row q: go on with {q}, with both if q
 *                                             was tried before
 *   targets    just above the bound, then higher: values that no choice cheaper than the target has go, the rest is condensed again,
 *              and labels of one number or two find its best choice, or prove that there is none below the target
 *   the labels' best choice keeps all rows: it is the optimum; or it overfills a row, which is then added
 * </pre>
 *
 * A training step has thousands of rows, of which the first one of the optimizer, when everything is alive, may bind alone. Where the
 * bound of its best price is nearly the optimum, few values are left below the first target: 741 of 10,941 variables of a GPT of 72
 * layers.
 */
final class FewRows {
    /** Rows at most, and sets of rows that are tried. */
    private static final int MOST_ROWS = 4;

    private static final int MOST_SETS = 8;

    /** First distance of the target from the bound, as a part of it, the factor by which it grows, and how often. */
    private static final double FIRST_STEP = 2e-5;

    private static final double FACTOR = 3;
    private static final int TARGETS = 6;

    private static final int FIRST_WIDTH = 2048;
    private static final int LAST_WIDTH = 1 << 15;

    /** Rounds of exact elimination that leave out values, and entries of its tables at most. */
    private static final int MOST_NARROWINGS = 4;

    private static final int MOST_TREE_ENTRIES = 1 << 22;
    private static final long MOST_TOTAL_TREE_ENTRIES = 1 << 26;

    /** Part of the bound that a choice may cost more than it at the same prices: above that, bounds do not prove anything. */
    private static final double LOOSEST = 0.02;

    /** Part of the time for prices, and for all. */
    private static final double FOR_PRICES = 0.2;

    private static final double FOR_ALL = 0.3;

    /** Entries of all matrices at most, unless most of them are equal: hundreds of sweeps must take no more than a second or two. */
    private static final long MOST_ENTRIES = 1_000_000;

    /** Entries of equal matrices for each one of them. */
    private static final int REPEATED = 10;

    private final Core core;
    private final Incumbent incumbent;
    private final SolveOptions options;
    private final Budget budget;
    private final long leftAtFirst;

    private final double loosest;
    private final int targets;

    FewRows(Core core, Incumbent incumbent, SolveOptions options, Budget budget) {
        this(core, incumbent, options, budget, LOOSEST, TARGETS);
    }

    /** Takes the looseness up to which it goes on, and how many targets are tried. */
    FewRows(Core core, Incumbent incumbent, SolveOptions options, Budget budget, double loosest, int targets) {
        this.loosest = loosest;
        this.targets = targets;
        this.core = core;
        this.incumbent = incumbent;
        this.options = options;
        this.budget = budget;
        this.leftAtFirst = budget.left();
    }

    /** Searches; what is found goes to the incumbent. */
    void run() {
        long entries = entries(Arrays.stream(core.edgeCost));
        if (entries > MOST_ENTRIES
                && REPEATED * entries(Arrays.stream(core.edgeCost).distinct()) > entries) {
            return;
        }
        Set<Integer> tried = new HashSet<>();
        TreeSet<Integer> rows = new TreeSet<>();
        for (int set = 0; set < MOST_SETS && !over(FOR_PRICES); set++) {
            Core few = condensed(core.onlyRows(rows.stream().mapToInt(r -> r).toArray()));
            if (few == null) {
                return;
            }
            int overfull = few.size == 0 ? only(few) : solve(few);
            if (overfull < 0) {
                return;
            }
            if (tried.add(overfull) && rows.size() < 2) {
                rows.clear();
            }
            if (!rows.add(overfull) || rows.size() > MOST_ROWS) {
                return;
            }
        }
    }

    /** Entries of matrices; shared ones are one array. */
    private static long entries(Stream<double[]> matrices) {
        return matrices.mapToLong(matrix -> matrix.length).sum();
    }

    /** Solves with some rows; returns the row that the choice found overfills, -1 if there is none or nothing was proven. */
    private int solve(Core few) {
        RowPrices prices = new RowPrices(few, incumbent, dominating(), budget, () -> over(FOR_PRICES));
        prices.find();
        int[] keeps = prices.keeps();
        if (prices.looseness() > loosest) {
            return -1;
        }
        incumbent.raise(prices.bound(), "few rows");
        if (keeps == null) {
            return -1;
        }
        int overfull = offer(few, keeps);
        return overfull < 0 && !over(FOR_PRICES) ? labels(few, prices) : overfull;
    }

    /** The only choice that reduction left. */
    private int only(Core few) {
        incumbent.raise(few.constant, "few rows");
        return offer(few, new int[0]);
    }

    private boolean over(double part) {
        return incumbent.closed(options.targetGap()) || budget.over() || budget.left() < (1 - part) * leftAtFirst;
    }

    /** A core without what cannot matter; null if it has no choice at all. */
    private @Nullable Core condensed(Core some) {
        return Condenser.condense(some, dominating(), Long.MAX_VALUE, budget).core();
    }

    private boolean dominating() {
        return !options.without().contains(Technique.DOMINANCE);
    }

    /** Offers a choice if it keeps all rows; else returns the row that it overfills most, -1 if there is none. */
    private int offer(Core some, int[] x) {
        int[] full = some.expand(x).stream().mapToInt(Integer::intValue).toArray();
        long[] usage = core.usage(full);
        int fullest = core.fullest(usage);
        if (fullest >= 0 && usage[fullest] > core.limit[fullest]) {
            return fullest;
        }
        incumbent.offer(full, "few rows");
        return -1;
    }

    /**
     * Labels for the choices cheaper than a target, which rises. Returns the row that the best choice overfills, -1 if there is none or
     * nothing was proven.
     */
    private int labels(Core few, RowPrices prices) {
        DualBound dual = prices.dual();
        double step = FIRST_STEP * Math.abs(dual.best()) + 1;
        int width = FIRST_WIDTH;
        int done = 0;
        while (done < targets && !over(FOR_ALL)) {
            double target = Math.min(incumbent.cost(), Math.floor(Math.max(incumbent.bound(), dual.best()) + step));
            Core below = few.restrict(dual.worthKeeping(target, prices.latest()));
            budget.spend(7 * dual.entriesPerSweep());
            Core small = condensed(below);
            if (small == null) {
                // No choice is cheaper than the target, not even with these rows alone.
                incumbent.raise(target, "few rows");
                step *= FACTOR;
                done++;
                continue;
            }
            small = narrowed(small, few, dual.bestPrice(), target);
            if (small == null) {
                incumbent.raise(target, "few rows");
                step *= FACTOR;
                done++;
                continue;
            }
            if (small.size == 0) {
                incumbent.raise(Math.min(target, small.constant), "few rows");
                return small.constant < target ? offer(small, new int[0]) : -1;
            }
            LabelSearch search = LabelSearch.alongTree(small, options.seed(), budget);
            if (search == null) {
                return -1;
            }
            double[] price = pricesOf(small, few, dual.bestPrice());
            double bound = search.search(price, target, width);
            while (search.best() == null && bound < target && width < LAST_WIDTH && !over(FOR_ALL)) {
                width *= 4;
                bound = search.search(price, target, width);
            }
            incumbent.raise(bound, "few rows");
            int[] best = search.best();
            int overfull = best == null ? -1 : offer(small, best);
            if (overfull >= 0) {
                return overfull;
            }
            if (best == null && bound >= target) {
                step *= FACTOR;
                done++;
            } else if (width < LAST_WIDTH) {
                width *= 4;
            } else {
                return -1;
            }
        }
        return -1;
    }

    /**
     * Leaves out more values by exact elimination, as long as many go; null if no choice is cheaper than the target.
     */
    private @Nullable Core narrowed(Core some, Core few, double[] bestPrice, double target) {
        Core left = some;
        for (int round = 0; round < MOST_NARROWINGS && left.size > 0; round++) {
            Elimination tree = Elimination.whole(
                    left, MOST_TREE_ENTRIES, MOST_TOTAL_TREE_ENTRIES, new SplittableRandom(options.seed()), budget);
            if (tree == null) {
                return left;
            }
            double[] price = pricesOf(left, few, bestPrice);
            double[][] theta = left.priced(price);
            double bound = left.constant - left.atLimit(price) + tree.collect(theta, new int[left.size]);
            if (bound == Double.POSITIVE_INFINITY) {
                return null;
            }
            double room = target - 1 + 0.01 + 1e-9 * Math.abs(target) - bound;
            double[][] surplus = tree.surplus();
            budget.spend(4 * tree.entries());
            boolean[][] keep = new boolean[left.size][];
            int gone = 0;
            int all = 0;
            boolean none = false;
            for (int v = 0; v < keep.length; v++) {
                keep[v] = new boolean[surplus[v].length];
                int kept = 0;
                for (int k = 0; k < keep[v].length; k++) {
                    keep[v][k] = surplus[v][k] <= room;
                    kept += keep[v][k] ? 1 : 0;
                }
                none |= kept == 0;
                gone += keep[v].length - kept;
                all += keep[v].length;
            }
            if (none) {
                return null;
            }
            if (gone < all / 20) {
                return left;
            }
            left = condensed(left.restrict(keep));
            if (left == null) {
                return null;
            }
        }
        return left;
    }

    /** The prices of the rows that are left: rows that cannot overflow any more are not. */
    private static double[] pricesOf(Core small, Core few, double[] price) {
        double[] left = new double[small.rows];
        for (int r = 0; r < left.length; r++) {
            for (int q = 0; q < few.rows; q++) {
                left[r] += few.rowTime[q].equals(small.rowTime[r]) ? price[q] : 0;
            }
        }
        return left;
    }
}
