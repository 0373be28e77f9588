package dev.drover.solver;

import dev.drover.solver.LocalSearch.Outcome;
import dev.drover.solver.SolveOptions.Technique;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.function.BooleanSupplier;

/**
 * Improves a choice by freeing one neighbourhood after the other and solving each under the true limits.
 *
 * <pre>
 *   start     the choice that the prices suggest, repaired: neighbourhoods around overfull rows until all rows fit
 *   improve   neighbourhoods of 8 .. all variables around random ones, or around one full row; the sizes that
 *             gained most per second lately are tried more often
 *   restart   when the bound has risen much since: repair the newest suggestion, keep it if it beats the best
 * </pre>
 */
final class Neighbourhoods {
    private static final int[] SIZES = {8, 16, 32, 64, 128, 256, 512, 1024, 4096, 1 << 20};

    private final Core core;
    private final Incumbent incumbent;
    private final Guide guide;
    private final Budget budget;
    private final BooleanSupplier stop;
    private final SplittableRandom random;
    private final LocalSearch local;
    private final int nodes;
    private final double[] gain = new double[SIZES.length];
    private final int[] mark;
    private int stamp;

    private int[] x;
    private long[] usage;
    private double boundAtRestart;

    Neighbourhoods(
            Core core,
            Incumbent incumbent,
            Guide guide,
            SolveOptions options,
            Budget budget,
            BooleanSupplier stop,
            SplittableRandom random) {
        this.core = core;
        this.incumbent = incumbent;
        this.guide = guide;
        this.budget = budget;
        this.stop = stop;
        this.random = random;
        this.local = new LocalSearch(core, budget, stop);
        this.nodes = options.without().contains(Technique.ENUMERATION) ? 0 : 2000;
        this.mark = new int[core.size];
        this.x = new int[core.size];
        this.usage = new long[0];
        Arrays.fill(gain, 1);
    }

    /** Works for a while, a second or so. */
    void turn() {
        double best = incumbent.cost();
        double bound = incumbent.bound();
        boolean none = best == Double.POSITIVE_INFINITY;
        if (none || (best - bound > 0.003 * best && bound > boundAtRestart * 1.005 + 1)) {
            boundAtRestart = bound;
            x = guide.decoded().clone();
            usage = core.usage(x);
            if (repair(none ? 40 : 200)) {
                incumbent.offer(x, "repair");
                improve(60, Double.POSITIVE_INFINITY);
            }
        }
        int[] taken = incumbent.best();
        if (taken != null) {
            x = taken;
            usage = core.usage(x);
            improve(50, incumbent.cost());
        }
    }

    /** Brings all rows within their limits; false if the steps do not suffice. */
    private boolean repair(int steps) {
        for (int step = 0; step < steps && !stop.getAsBoolean(); step++) {
            int row = overfullRow();
            if (row < 0) {
                return core.cost(x) < Double.POSITIVE_INFINITY;
            }
            int size = 32 << Math.min(step / 3, 16);
            int[] free = size >= core.size ? all() : ball(size, 4, row);
            local.search(plan(free), x, usage, guide.prices(), 20, 0);
        }
        return overfullRow() < 0 && core.cost(x) < Double.POSITIVE_INFINITY;
    }

    /** Solves neighbourhoods of the present choice and offers what beats the best. */
    private void improve(int patience, double known) {
        int steps = patience;
        double present = known == Double.POSITIVE_INFINITY ? core.cost(x) : known;
        for (int step = 0; step < steps && !stop.getAsBoolean(); step++) {
            int kind = pick();
            long start = budget.now();
            int size = Math.min(SIZES[kind], core.size);
            int row = random.nextInt(3) == 0 ? fullRow() : -1;
            int[] free = size == core.size ? all() : ball(size, row < 0 ? 1 + random.nextInt(3) : 4, row);
            Outcome outcome = local.search(plan(free), x, usage, guide.prices(), 12, nodes);
            double seconds = (budget.now() - start) / 1e9;
            double won = 0;
            if (outcome == Outcome.BETTER) {
                double cost = core.cost(x);
                won = (present - cost) / cost;
                present = cost;
                if (cost < incumbent.cost()) {
                    incumbent.offer(x, "neighbourhood of " + free.length);
                    steps = Math.min(step + patience, 6 * patience);
                }
            }
            gain[kind] = 0.95 * gain[kind] + 0.05 * won / (seconds + 1e-6);
        }
    }

    private Elimination plan(int[] free) {
        Elimination plan = Elimination.plan(core, free, 1 << random.nextInt(11, 17), 1 << 21, random);
        budget.spend(plan.entries() + 1000L * free.length);
        return plan;
    }

    private int[] all() {
        int[] all = new int[core.size];
        Arrays.setAll(all, v -> v);
        return all;
    }

    /** A random row among those above their limit, -1 if there is none. */
    private int overfullRow() {
        int found = -1;
        int count = 0;
        for (int r = 0; r < core.rows; r++) {
            if (usage[r] > core.limit[r] && random.nextInt(++count) == 0) {
                found = r;
            }
        }
        return found;
    }

    /** A random row among those that have a price or are nearly full, -1 if there is none. */
    private int fullRow() {
        double[] prices = guide.prices();
        int found = -1;
        int count = 0;
        for (int r = 0; r < core.rows; r++) {
            boolean full = prices[r] > 0 || usage[r] > 0.995 * core.limit[r];
            if (full && random.nextInt(++count) == 0) {
                found = r;
            }
        }
        return found;
    }

    /** A size: half of the time any, else the one that gained most per second lately. */
    private int pick() {
        int sizes = 1;
        while (sizes < SIZES.length && SIZES[sizes - 1] < core.size) {
            sizes++;
        }
        int best = random.nextInt(sizes);
        if (random.nextBoolean()) {
            for (int i = 0; i < sizes; i++) {
                if (gain[i] > gain[best]) {
                    best = i;
                }
            }
        }
        return best;
    }

    /** A first variable: any, or one that could use less in the row. */
    private int center(int row) {
        int v = random.nextInt(core.size);
        if (row < 0) {
            return v;
        }
        int best = v;
        long most = -1;
        for (int tries = 0, seen = 0; tries < 400 && seen < 3; tries++, v = random.nextInt(core.size)) {
            for (int s = 0; s < core.segStart[v].length; s++) {
                if (core.segStart[v][s] <= row && row < core.segEnd[v][s]) {
                    seen++;
                    long u = core.segUsage[v][s][x[v]];
                    if (u > most) {
                        most = u;
                        best = v;
                    }
                }
            }
        }
        return best;
    }

    /** Variables around some first ones, by a random walk outward. */
    private int[] ball(int size, int centers, int row) {
        stamp++;
        int[] found = new int[size];
        int count = 0;
        int[] frontier = new int[size + 1];
        for (int c = 0; c < centers; c++) {
            int quota = size * (c + 1) / centers;
            int first = center(row);
            int waiting = 0;
            if (mark[first] != stamp && count < quota) {
                mark[first] = stamp;
                frontier[waiting++] = first;
            }
            while (waiting > 0 && count < quota) {
                int at = random.nextInt(waiting);
                int v = frontier[at];
                frontier[at] = frontier[--waiting];
                found[count++] = v;
                int[] edges = core.incident[v];
                int from = edges.length == 0 ? 0 : random.nextInt(edges.length);
                for (int i = 0; i < edges.length && waiting + count < size; i++) {
                    int u = core.other(edges[(from + i) % edges.length], v);
                    if (mark[u] != stamp) {
                        mark[u] = stamp;
                        frontier[waiting++] = u;
                    }
                }
            }
            for (int i = 0; i < waiting; i++) {
                mark[frontier[i]] = 0;
            }
        }
        return Arrays.copyOf(found, count);
    }
}
