package dev.drover.solver;

import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Comparator;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * A first choice that fits, in a fraction of a second: dives that take what uses least, then cheaper values where there is room.
 *
 * <pre>
 *   dive     variables by their use; each takes the allowed value that uses least (rows weighted), then costs least;
 *            values without partner go at once; a variable left without value comes earlier in the next dive
 *   weights  rows that the dive overfilled weigh more in the next
 *   descent  each variable in turn takes its cheapest value for its neighbours' present ones that keeps every row
 * </pre>
 *
 * Without forbidden pairs, and where one value of each variable uses least in all rows, the first dive fits if anything does.
 */
final class FirstChoice {
    private static final int DIVES = 24;
    private static final int DESCENTS = 6;

    private final Core core;
    private final Budget budget;
    private final double[] weight;
    private final double[] urgency;
    private final int[] x;
    private final boolean[][] out;
    private final int[] left;

    private FirstChoice(Core core, Budget budget) {
        this.core = core;
        this.budget = budget;
        this.weight = new double[core.rows];
        this.urgency = new double[core.size];
        this.x = new int[core.size];
        this.out = new boolean[core.size][];
        this.left = new int[core.size];
        for (int r = 0; r < core.rows; r++) {
            weight[r] = 1.0 / Math.max(1, core.limit[r]);
        }
        for (int v = 0; v < core.size; v++) {
            out[v] = new boolean[core.domain[v]];
            for (int s = 0; s < core.segStart[v].length; s++) {
                urgency[v] = Math.max(urgency[v], (double)
                        Arrays.stream(core.segUsage[v][s]).max().orElse(0));
            }
        }
        double most = Arrays.stream(urgency).max().orElse(1);
        for (int v = 0; v < core.size; v++) {
            urgency[v] /= Math.max(1, most);
        }
    }

    /** Returns values that fit and have no forbidden pair, null if none were found. */
    static int @Nullable [] find(Core core, Budget budget) {
        FirstChoice search = new FirstChoice(core, budget);
        for (int dive = 0; dive < DIVES && !budget.late(); dive++) {
            if (search.dive() && search.fits()) {
                search.descend();
                return search.x;
            }
        }
        return null;
    }

    private boolean dive() {
        double[] prefix = new double[core.rows + 1];
        for (int r = 0; r < core.rows; r++) {
            prefix[r + 1] = prefix[r] + weight[r];
        }
        double[][] use = new double[core.size][];
        for (int v = 0; v < core.size; v++) {
            use[v] = new double[core.domain[v]];
            core.addPrices(prefix, v, use[v]);
            Arrays.fill(out[v], false);
            left[v] = core.domain[v];
        }
        Arrays.fill(x, -1);
        int[] order = IntStream.range(0, core.size)
                .boxed()
                .sorted(Comparator.comparingDouble((Integer v) -> -urgency[v]))
                .mapToInt(Integer::intValue)
                .toArray();
        for (int v : order) {
            if (budget.late()) {
                return false;
            }
            int best = -1;
            double bestCost = 0;
            for (int k = 0; k < core.domain[v]; k++) {
                if (out[v][k]) {
                    continue;
                }
                if (best >= 0 && use[v][k] > use[v][best]) {
                    continue;
                }
                double cost = costTo(v, k);
                if (best < 0 || use[v][k] < use[v][best] || cost < bestCost) {
                    best = k;
                    bestCost = cost;
                }
            }
            for (int k = 0; k < core.domain[v]; k++) {
                if (k != best && !out[v][k]) {
                    out[v][k] = true;
                    left[v]--;
                }
            }
            x[v] = best;
            int stuck = propagate(v);
            if (stuck >= 0) {
                urgency[stuck] += 1;
                return false;
            }
        }
        return true;
    }

    /** Cost of a value with the neighbours that have one. */
    private double costTo(int v, int k) {
        double sum = core.unary[v][k];
        for (int e : core.incident[v]) {
            int u = core.other(e, v);
            if (x[u] >= 0) {
                sum += core.columnsOf(e, v)[x[u] * core.domain[v] + k];
            }
        }
        return sum;
    }

    /** Takes out values without partner; returns a variable that has none left, -1 if there is none. */
    private int propagate(int from) {
        ArrayDeque<Integer> work = new ArrayDeque<>();
        work.add(from);
        while (!work.isEmpty()) {
            int v = work.poll();
            for (int e : core.incident[v]) {
                int u = core.other(e, v);
                double[] m = core.columnsOf(e, u);
                boolean less = false;
                for (int l = 0; l < core.domain[u]; l++) {
                    if (!out[u][l] && !hasPartner(v, m, core.domain[u], l)) {
                        out[u][l] = true;
                        left[u]--;
                        less = true;
                    }
                }
                if (left[u] == 0) {
                    return u;
                }
                if (less) {
                    work.add(u);
                }
            }
        }
        return -1;
    }

    private boolean hasPartner(int v, double[] m, int width, int l) {
        for (int k = 0; k < core.domain[v]; k++) {
            if (!out[v][k] && m[k * width + l] != Double.POSITIVE_INFINITY) {
                return true;
            }
        }
        return false;
    }

    private boolean fits() {
        long[] usage = core.usage(x);
        boolean fits = true;
        for (int r = 0; r < core.rows; r++) {
            if (usage[r] > core.limit[r]) {
                weight[r] *= 2;
                fits = false;
            }
        }
        return fits;
    }

    private void descend() {
        long[] room = core.usage(x);
        for (int r = 0; r < core.rows; r++) {
            room[r] = core.limit[r] - room[r];
        }
        boolean moved = true;
        for (int pass = 0; pass < DESCENTS && moved; pass++) {
            moved = false;
            for (int i = 0; i < core.size && !budget.late(); i++) {
                int v = pass % 2 == 0 ? i : core.size - 1 - i;
                double now = costTo(v, x[v]);
                int best = x[v];
                for (int k = 0; k < core.domain[v]; k++) {
                    double cost = k == x[v] ? now : costTo(v, k);
                    if (cost < now && hasRoom(v, k, room)) {
                        now = cost;
                        best = k;
                    }
                }
                if (best != x[v]) {
                    take(v, best, room);
                    moved = true;
                }
            }
        }
    }

    private boolean hasRoom(int v, int k, long[] room) {
        // Segments of a variable may overlap: their sum counts.
        boolean fits = true;
        int from = x[v];
        take(v, k, room);
        for (int s = 0; s < core.segStart[v].length && fits; s++) {
            for (int r = core.segStart[v][s]; r < core.segEnd[v][s] && fits; r++) {
                fits = room[r] >= 0;
            }
        }
        take(v, from, room);
        return fits;
    }

    private void take(int v, int k, long[] room) {
        for (int s = 0; s < core.segStart[v].length; s++) {
            long more = core.segUsage[v][s][k] - core.segUsage[v][s][x[v]];
            if (more != 0) {
                for (int r = core.segStart[v][s]; r < core.segEnd[v][s]; r++) {
                    room[r] -= more;
                }
            }
        }
        x[v] = k;
    }
}
