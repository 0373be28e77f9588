package dev.drover.solver;

import org.jspecify.annotations.Nullable;

/**
 * By how much every choice of an infeasible core is above the usage limit: halves the interval between what is proven and the nearest
 * choice known, each time asking whether a larger limit has a choice.
 */
final class LeastExcess {
    private static final int WIDTH = 1 << 14;
    private static final long WORK = 300_000_000;

    private LeastExcess() {}

    /**
     * What is known of the excess.
     *
     * @param time where the nearest choice is above the limit most, null if it is nowhere
     * @param least no choice is above by less, 0 if that is not known
     * @param nearest excess of the nearest choice
     */
    record Excess(@Nullable TimeSpan time, long least, long nearest) {
        /** Returns it as a sentence that begins with a space, for a limit in the problem's own unit; empty if nothing is known. */
        String text(long usageLimit) {
            if (time == null) {
                return "";
            }
            boolean exact = least == nearest;
            return " The nearest choice" + (exact ? "" : " seen") + " uses " + (usageLimit + nearest)
                    + " in the interval " + time + ", above the usage limit " + usageLimit + " by " + nearest
                    + (exact
                            ? ", and none by less."
                            : least > 0 ? "; each choice is above it by at least " + least + "." : ".");
        }
    }

    /** Returns where and by how much these values are above the limits. */
    static Excess of(Core core, int[] x) {
        long[] usage = core.usage(x);
        int worst = core.fullest(usage);
        return worst < 0 || usage[worst] <= core.limit[worst]
                ? new Excess(null, 0, 0)
                : new Excess(core.rowTime[worst], 0, usage[worst] - core.limit[worst]);
    }

    /**
     * Searches for the least excess.
     *
     * @param core proven to be infeasible
     * @param known values without forbidden pairs, or any at all
     * @param budget ends it early: then less is known
     */
    static Excess find(Core core, int[] known, Budget budget) {
        Excess nearest = of(core, known);
        long low = 1;
        long high = core.cost(known) == Double.POSITIVE_INFINITY ? Long.MAX_VALUE : nearest.nearest;
        long most = 1;
        for (int r = 0; r < core.rows; r++) {
            most = Math.max(most, -core.limit[r]);
        }
        long begin = budget.spent();
        long step = Math.max(1, most / 64);
        while (low < high && !budget.over() && budget.spent() - begin < WORK) {
            // Without a choice the guesses grow, with one they halve what is left.
            long guess = high == Long.MAX_VALUE ? low + step : low + (high - low) / 2;
            step *= 2;
            LabelSearch labels = LabelSearch.along(core.withoutCosts(guess), budget);
            if (labels == null || step < 0) {
                break;
            }
            double bound = labels.search(new double[core.rows], Double.POSITIVE_INFINITY, WIDTH);
            int[] best = labels.best();
            if (best != null) {
                nearest = of(core, best);
                high = nearest.nearest;
            } else if (bound == Double.POSITIVE_INFINITY) {
                low = guess + 1;
            } else {
                break;
            }
        }
        return new Excess(nearest.time, low, nearest.nearest);
    }
}
