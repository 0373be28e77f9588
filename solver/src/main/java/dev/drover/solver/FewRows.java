package dev.drover.solver;

import dev.drover.solver.SolveOptions.Technique;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
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

    /** What a value costs more at most to be mixed with others, as a part of the bound. */
    private static final double[] ROOMS = {2e-7, 2e-6};

    private static final int MIXED_WIDTH = 1024;

    /** Part of the bound that the best choice must cost more than it for mixtures to be worth their time: targets do the rest. */
    private static final double FAR = 3e-4;

    /** Parts of the bound that a mixed choice may cost more than it, tried in turn. */
    private static final double[] MIXED_GAPS = {1e-3, 4e-3};

    private static final int FIRST_WIDTH = 2048;
    private static final int LAST_WIDTH = 1 << 15;

    /** Rounds of exact elimination that leave out values, and entries of its tables at most. */
    private static final int MOST_NARROWINGS = 4;

    private static final int MOST_TREE_ENTRIES = 1 << 22;
    private static final long MOST_TOTAL_TREE_ENTRIES = 1 << 26;

    /** Part of the bound that a choice may cost more than it at the same prices: above that, bounds do not prove anything. */
    private static final double LOOSEST = 0.02;

    /** Part of the time for prices, and for all; of cores of many equal matrices, where nothing else gets as far. */
    private static final double FOR_PRICES = 0.2;

    private static final double FOR_ALL = 0.3;
    private static final double FOR_PRICES_OF_EQUAL = 0.5;
    private static final double FOR_ALL_OF_EQUAL = 0.75;

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
    private final double[] priceByRow;
    private double forPrices = FOR_PRICES;
    private double forAll = FOR_ALL;

    FewRows(Core core, Incumbent incumbent, SolveOptions options, Budget budget) {
        this(core, incumbent, options, budget, LOOSEST, TARGETS);
    }

    /** Takes the looseness up to which it goes on, and how many targets are tried. */
    FewRows(Core core, Incumbent incumbent, SolveOptions options, Budget budget, double loosest, int targets) {
        this.loosest = loosest;
        this.targets = targets;
        this.core = core;
        this.priceByRow = new double[core.rows];
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
        if (entries > MOST_ENTRIES) {
            forPrices = FOR_PRICES_OF_EQUAL;
            forAll = FOR_ALL_OF_EQUAL;
        }
        Set<Integer> tried = new HashSet<>();
        TreeSet<Integer> rows = new TreeSet<>();
        for (int set = 0; set < MOST_SETS && !over(forPrices); set++) {
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
        RowPrices prices = new RowPrices(few, incumbent, dominating(), budget, () -> over(forPrices));
        prices.find(Arrays.stream(priceByRow).max().orElse(0));
        int[] keeps = prices.keeps();
        if (prices.looseness() > loosest) {
            return -1;
        }
        incumbent.raise(prices.bound(), "few rows");
        rememberPrices(few, prices.dual().bestPrice());
        int overfull = keeps == null ? -1 : offer(few, keeps);
        double far = prices.bound() + FAR * Math.abs(prices.bound());
        for (double room : ROOMS) {
            overfull = few.rows > 0 && incumbent.cost() > far && overfull < 0 && !over(forAll)
                    ? mixed(few, prices, room)
                    : overfull;
        }
        if (few.rows > 0 && incumbent.cost() > far) {
            mixed(few, prices);
        }
        return overfull < 0 && !over(forAll) ? labels(few, prices) : overfull;
    }

    /** Sets the prices of the rows that this core has, for the search of all rows. */
    private void rememberPrices(Core few, double[] price) {
        double[] all = core.pricesOf(few, price);
        for (int r = 0; r < all.length; r++) {
            priceByRow[r] = all[r] > 0 ? all[r] : priceByRow[r];
        }
    }

    /** The best prices found for the rows of the whole core, 0 for those that were left out. */
    double[] prices() {
        return priceByRow;
    }

    /** The best choice under all rows of those that take each value from one of a few choices near the bound. */
    private void mixed(Core few, RowPrices prices) {
        boolean[][] keep = new boolean[core.size][];
        for (int v = 0; v < keep.length; v++) {
            keep[v] = new boolean[core.domain[v]];
        }
        for (int[] choice : prices.near()) {
            List<Integer> full = few.expand(choice);
            for (int v = 0; v < keep.length; v++) {
                keep[v][full.get(v)] = true;
            }
        }
        Core small = condensed(core.alone().restrict(keep));
        if (small != null) {
            searched(small, few, prices);
        }
    }

    /**
     * The best choice under these rows of those whose values cost little more than the best ones at the best price. Returns the row that it overfills, -1 if there is none.
     */
    private int mixed(Core few, RowPrices prices, double room) {
        DualBound dual = prices.dual();
        boolean[][] keep = dual.worthKeeping(dual.best() + room * Math.abs(dual.best()), prices.latest());
        budget.spend(7 * dual.entriesPerSweep());
        Core small = condensed(few.restrict(keep));
        return small == null ? -1 : searched(small, few, prices);
    }

    /** Labels on what is left; returns the row that the best choice overfills, -1 if there is none. */
    private int searched(Core small, Core few, RowPrices prices) {
        if (small.size == 0) {
            return offer(small, new int[0]);
        }
        LabelSearch search = LabelSearch.alongTree(small, options.seed(), LabelSearch.MOST_NUMBERS, budget);
        if (search == null) {
            return -1;
        }
        // Near the bound few labels are open; a dear incumbent would leave too many.
        double[] price = small.pricesOf(few, prices.dual().bestPrice());
        for (double gap : MIXED_GAPS) {
            search.search(
                    price, Math.min(incumbent.cost(), prices.bound() + gap * Math.abs(prices.bound())), MIXED_WIDTH);
            int[] best = search.best();
            if (best != null) {
                return offer(small, best);
            }
        }
        return -1;
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
        return Condenser.condense(some, dominating(), budget).core();
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
        while (done < targets && !over(forAll)) {
            double target = Math.min(incumbent.cost(), Math.floor(Math.max(incumbent.bound(), dual.best()) + step));
            Core below = few.restrict(dual.worthKeeping(target, prices.latest()));
            budget.spend(7 * dual.entriesPerSweep());
            Core small = condensed(below);
            if (small == null) {
                // No choice is cheaper than the target, not even with these rows alone.
                incumbent.prove(target, "few rows");
                step *= FACTOR;
                done++;
                continue;
            }
            small = narrowed(small, few, dual.bestPrice(), target);
            if (small == null) {
                incumbent.prove(target, "few rows");
                step *= FACTOR;
                done++;
                continue;
            }
            if (small.size == 0) {
                incumbent.prove(Math.min(target, small.constant), "few rows");
                return small.constant < target ? offer(small, new int[0]) : -1;
            }
            LabelSearch search = LabelSearch.alongTree(small, options.seed(), LabelSearch.MOST_NUMBERS, budget);
            if (search == null) {
                return -1;
            }
            double[] price = small.pricesOf(few, dual.bestPrice());
            double bound = search.search(price, target, width);
            while (search.best() == null && bound < target && width < LAST_WIDTH && !over(forAll)) {
                width *= 4;
                bound = search.search(price, target, width);
            }
            if (search.complete()) {
                incumbent.prove(bound, "few rows");
            } else {
                incumbent.raise(bound, "few rows");
            }
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
            double[] price = left.pricesOf(few, bestPrice);
            double[][] theta = left.priced(price);
            double bound = left.constant - left.atLimit(price) + tree.collect(theta, new int[left.size]);
            if (bound == Double.POSITIVE_INFINITY) {
                return null;
            }
            double room = Incumbent.mostBelow(target) - bound;
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
}
