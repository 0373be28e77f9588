package dev.drover.solver;

import dev.drover.solver.LocalSearch.Outcome;
import dev.drover.solver.SolveOptions.Technique;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.function.BooleanSupplier;

/** Improves a choice by freeing one neighbourhood after the other and solving each under the true limits. */
final class Neighbourhoods {
    private static final int[] SIZES = {8, 16, 32, 64, 128, 256, 512, 1024, 4096};

    private final Core core;
    private final Incumbent incumbent;
    private final Guide guide;
    private final BooleanSupplier stop;
    private final SplittableRandom random;
    private final LocalSearch local;
    private final int nodes;
    private final double[] gain = new double[SIZES.length];
    private final int[] mark;
    private int stamp;

    Neighbourhoods(
            Core core,
            Incumbent incumbent,
            Guide guide,
            SolveOptions options,
            BooleanSupplier stop,
            SplittableRandom random,
            int id) {
        this.core = core;
        this.incumbent = incumbent;
        this.guide = guide;
        this.stop = stop;
        this.random = random;
        this.local = new LocalSearch(core, stop);
        this.nodes = options.without().contains(Technique.ENUMERATION) ? 0 : 2000;
        this.mark = new int[core.size];
        Arrays.fill(gain, 1);
    }

    void run() {
        int[] x = guide.decoded().clone();
        long[] usage = core.usage(x);
        double known = Double.POSITIVE_INFINITY;
        while (!stop.getAsBoolean()) {
            double best = incumbent.cost();
            if (best < known) {
                int[] taken = incumbent.best();
                if (taken != null) {
                    x = taken;
                    usage = core.usage(x);
                    known = best;
                }
            }
            int kind = pick();
            long start = System.nanoTime();
            int[] free = ball(Math.min(SIZES[kind], core.size));
            Elimination plan = Elimination.plan(core, free, 1 << random.nextInt(11, 17), 1 << 21, random);
            Outcome outcome = local.search(plan, x, usage, guide.prices(), 12, nodes);
            double seconds = (System.nanoTime() - start) / 1e9;
            double won = 0;
            if (outcome == Outcome.BETTER && fits(usage)) {
                double cost = core.cost(x);
                won = known == Double.POSITIVE_INFINITY ? 1 : (known - cost) / cost;
                known = Math.min(known, cost);
                incumbent.offer(x, "neighbourhood of " + plan.order.length);
            }
            gain[kind] = 0.95 * gain[kind] + 0.05 * won / (seconds + 1e-6);
        }
    }

    private boolean fits(long[] usage) {
        for (int r = 0; r < core.rows; r++) {
            if (usage[r] > core.limit[r]) {
                return false;
            }
        }
        return true;
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

    /** Variables around one to three random ones, by a random walk outward. */
    private int[] ball(int size) {
        stamp++;
        int[] found = new int[size];
        int count = 0;
        int centers = 1 + random.nextInt(3);
        int[] frontier = new int[size + 1];
        for (int c = 0; c < centers; c++) {
            int quota = c == centers - 1 ? size : size * (c + 1) / centers;
            int first = random.nextInt(core.size);
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
