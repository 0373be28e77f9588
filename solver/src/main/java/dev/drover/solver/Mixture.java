package dev.drover.solver;

import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.BooleanSupplier;
import java.util.stream.IntStream;

/**
 * The best choice among those that take each variable's value from one of a few choices: two or three values a variable instead of
 * thirty, so that exact elimination reaches much further with tables of the same size (fusion moves, Lempitsky et al. 2010).
 */
final class Mixture {
    /** Tries with other variables fixed where the tables are too large for all. */
    private static final int TRIES = 4;

    private static final int STEPS = 25;
    /** Entries of a table, and of all of an elimination together. */
    private static final int TABLE_ENTRIES = 1 << 14;

    private static final long ALL_ENTRIES = 1L << 21;

    private final int[][] values;
    private final Core few;
    private final int[] open;

    /**
     * Takes the choices to mix.
     *
     * @param core the problem
     * @param choices of it
     */
    Mixture(Core core, List<int[]> choices) {
        boolean[][] keep = new boolean[core.size][];
        for (int v = 0; v < keep.length; v++) {
            keep[v] = new boolean[core.domain[v]];
            for (int[] x : choices) {
                keep[v][x[v]] = true;
            }
        }
        values = new int[core.size][];
        for (int v = 0; v < keep.length; v++) {
            boolean[] mine = keep[v];
            values[v] = IntStream.range(0, mine.length).filter(k -> mine[k]).toArray();
        }
        few = core.alone().restrict(keep);
        open = IntStream.range(0, few.size).filter(v -> few.domain[v] > 1).toArray();
    }

    /** The variables whose value is open. */
    int open() {
        return open.length;
    }

    /**
     * Searches.
     *
     * @param from one of the choices, which fits
     * @param price of each row, to begin with
     * @param nodes limit of tree nodes of a try, 0 for no tree
     * @return the best choice found, {@code from} if there is none better
     */
    int[] best(int[] from, double[] price, int nodes, SplittableRandom random, Budget budget, BooleanSupplier stop) {
        int[] y = new int[few.size];
        for (int v = 0; v < y.length; v++) {
            y[v] = Arrays.binarySearch(values[v], from[v]);
        }
        long[] usage = few.usage(y);
        LocalSearch local = new LocalSearch(few, budget, stop);
        boolean whole = false;
        for (int t = 0; t < TRIES && !whole && open.length > 0 && !stop.getAsBoolean(); t++) {
            Elimination plan = Elimination.plan(few, open, TABLE_ENTRIES, ALL_ENTRIES, random, budget);
            budget.spend(plan.entries() + 1000L * open.length);
            whole = plan.frees(open.length);
            local.search(plan, y, usage, price, STEPS, nodes);
        }
        int[] x = new int[y.length];
        for (int v = 0; v < x.length; v++) {
            x[v] = values[v][y[v]];
        }
        return x;
    }
}
