package dev.drover.solver;

import java.util.ArrayDeque;
import java.util.Arrays;

/**
 * Whether a core has a choice that fits, whatever it costs: depth first, with values that nothing allows any more taken out at once.
 *
 * <pre>
 *   pairs     a value without partner on some edge goes
 *   rows      a value that passes a limit even if all others use least goes
 *   branch    the variable with few values left that ran dry often takes the value that uses least, or else loses it
 *   restart   after twice as many branches as before, with what is known of the variables that run dry
 * </pre>
 *
 * Source: weighted degrees, Boussemart and others 2004.
 */
final class Backtracking {
    private static final long FIRST_BRANCHES = 256;

    /** A branch takes a part of the stack for each variable. */
    private static final int MOST_VARIABLES = 1000;

    private final Core core;
    private final Budget budget;
    /** Edges of each variable that have a forbidden pair. */
    private final int[][] forbidding;

    /** How many values of the variable each of these edges forbids at most to one value of the other: while more are left, none goes. */
    private final int[][] mostForbidden;

    private final double[][] use;
    private final double[] weight;
    private final boolean[][] out;
    private final int[] left;
    private final int[] x;
    /** What was taken out, in order. */
    private final int[] goneVariable;

    private final int[] goneValue;
    private int goneCount;
    private long branchesLeft;
    private long workLeft;
    private boolean endedEarly;

    /** What a search has found. */
    enum Answer {
        /** There is a choice. */
        CHOICE,
        /** Proven: there is none. */
        NONE,
        /** The work ended before. */
        UNKNOWN
    }

    Backtracking(Core core, Budget budget) {
        this.core = core;
        this.budget = budget;
        forbidding = new int[core.size][];
        mostForbidden = new int[core.size][];
        double[] prefix = new double[core.rows + 1];
        for (int r = 0; r < core.rows; r++) {
            prefix[r + 1] = prefix[r] + 1.0 / Math.max(1, core.limit[r]);
        }
        use = new double[core.size][];
        out = new boolean[core.size][];
        left = core.domain.clone();
        x = new int[core.size];
        weight = new double[core.size];
        for (int v = 0; v < core.size; v++) {
            int variable = v;
            forbidding[v] = Arrays.stream(core.incident[v])
                    .filter(e -> mostForbidden(e, variable) > 0)
                    .toArray();
            mostForbidden[v] = Arrays.stream(forbidding[v])
                    .map(e -> mostForbidden(e, variable))
                    .toArray();
            use[v] = new double[core.domain[v]];
            core.addPrices(prefix, v, use[v]);
            out[v] = new boolean[core.domain[v]];
            weight[v] = 1 + forbidding[v].length;
        }
        int values = Arrays.stream(core.domain).sum();
        goneVariable = new int[values];
        goneValue = new int[values];
    }

    private int mostForbidden(int e, int v) {
        int u = core.other(e, v);
        double[] m = core.columnsOf(e, u);
        int most = 0;
        for (int l = 0; l < core.domain[u]; l++) {
            int count = 0;
            for (int k = 0; k < core.domain[v]; k++) {
                count += m[k * core.domain[u] + l] == Double.POSITIVE_INFINITY ? 1 : 0;
            }
            most = Math.max(most, count);
        }
        return most;
    }

    /** Searches with so many units of work at most. */
    Answer search(long mostWork) {
        if (core.size > MOST_VARIABLES) {
            return Answer.UNKNOWN;
        }
        workLeft = mostWork;
        for (long branches = FIRST_BRANCHES; ; branches *= 2) {
            branchesLeft = branches;
            endedEarly = false;
            if (settle(-1) && descend()) {
                return Answer.CHOICE;
            }
            undo(0);
            if (!endedEarly) {
                return Answer.NONE;
            }
            if (workLeft <= 0 || budget.over()) {
                return Answer.UNKNOWN;
            }
        }
    }

    /** The choice found. */
    int[] choice() {
        return x.clone();
    }

    private boolean descend() {
        while (true) {
            int v = next();
            if (v < 0) {
                for (int u = 0; u < core.size; u++) {
                    x[u] = first(u);
                }
                return true;
            }
            if (--branchesLeft < 0 || workLeft <= 0 || budget.late()) {
                endedEarly = true;
                return false;
            }
            int value = first(v);
            int mark = goneCount;
            for (int k = 0; k < core.domain[v]; k++) {
                if (k != value && !out[v][k]) {
                    take(v, k);
                }
            }
            if (settle(v) && descend()) {
                return true;
            }
            undo(mark);
            if (endedEarly) {
                return false;
            }
            take(v, value);
            if (!settle(v)) {
                return false;
            }
        }
    }

    private int next() {
        int best = -1;
        for (int v = 0; v < core.size; v++) {
            if (left[v] > 1 && (best < 0 || left[v] * weight[best] < left[best] * weight[v])) {
                best = v;
            }
        }
        return best;
    }

    /** The value left that uses least. */
    private int first(int v) {
        int best = -1;
        for (int k = 0; k < core.domain[v]; k++) {
            if (!out[v][k] && (best < 0 || use[v][k] < use[v][best])) {
                best = k;
            }
        }
        return best;
    }

    private void take(int v, int k) {
        out[v][k] = true;
        left[v]--;
        goneVariable[goneCount] = v;
        goneValue[goneCount++] = k;
    }

    private void undo(int mark) {
        while (goneCount > mark) {
            goneCount--;
            out[goneVariable[goneCount]][goneValue[goneCount]] = false;
            left[goneVariable[goneCount]]++;
        }
    }

    /** Takes out what nothing allows after a change of a variable, -1 for all; false if some variable has no value left. */
    private boolean settle(int changed) {
        ArrayDeque<Integer> work = new ArrayDeque<>();
        for (int v = 0; v < core.size; v++) {
            if (changed < 0 || v == changed) {
                work.add(v);
            }
        }
        do {
            while (!work.isEmpty()) {
                if (!dropWithoutPartner(work.poll(), work)) {
                    return false;
                }
            }
            if (!dropAboveLimit(work)) {
                return false;
            }
        } while (!work.isEmpty());
        return true;
    }

    private boolean dropWithoutPartner(int v, ArrayDeque<Integer> work) {
        for (int i = 0; i < forbidding[v].length; i++) {
            int u = core.other(forbidding[v][i], v);
            if (left[v] > mostForbidden[v][i]) {
                continue;
            }
            double[] m = core.columnsOf(forbidding[v][i], u);
            int before = left[u];
            spend((long) left[v] * core.domain[u]);
            for (int l = 0; l < core.domain[u]; l++) {
                if (!out[u][l] && !hasPartner(v, m, core.domain[u], l)) {
                    take(u, l);
                }
            }
            if (left[u] == 0) {
                weight[u]++;
                weight[v]++;
                return false;
            }
            if (left[u] < before) {
                work.add(u);
            }
        }
        return true;
    }

    private void spend(long units) {
        workLeft -= units;
        budget.spend(units);
    }

    private boolean hasPartner(int v, double[] m, int width, int l) {
        for (int k = 0; k < core.domain[v]; k++) {
            if (!out[v][k] && m[k * width + l] != Double.POSITIVE_INFINITY) {
                return true;
            }
        }
        return false;
    }

    private boolean dropAboveLimit(ArrayDeque<Integer> work) {
        // What is left of each row when all variables use least there.
        long[] change = new long[core.rows + 1];
        long[][] least = new long[core.size][];
        for (int v = 0; v < core.size; v++) {
            least[v] = new long[core.segStart[v].length];
            for (int s = 0; s < least[v].length; s++) {
                least[v][s] = least(v, core.segUsage[v][s]);
                change[core.segStart[v][s]] += least[v][s];
                change[core.segEnd[v][s]] -= least[v][s];
            }
            spend(1 + (long) least[v].length * core.domain[v]);
        }
        long[] room = new long[core.rows];
        long sum = 0;
        for (int r = 0; r < core.rows; r++) {
            sum += change[r];
            room[r] = core.limit[r] - sum;
            if (room[r] < 0) {
                return false;
            }
        }
        for (int v = 0; v < core.size; v++) {
            int before = left[v];
            for (int s = 0; s < least[v].length && left[v] > 0; s++) {
                long most = Long.MAX_VALUE;
                for (int r = core.segStart[v][s]; r < core.segEnd[v][s]; r++) {
                    most = Math.min(most, room[r]);
                }
                for (int k = 0; k < core.domain[v]; k++) {
                    if (!out[v][k] && core.segUsage[v][s][k] - least[v][s] > most) {
                        take(v, k);
                    }
                }
            }
            if (left[v] == 0) {
                weight[v]++;
                return false;
            }
            if (left[v] < before) {
                work.add(v);
            }
        }
        return true;
    }

    private long least(int v, long[] usage) {
        long least = Long.MAX_VALUE;
        for (int k = 0; k < usage.length; k++) {
            if (!out[v][k]) {
                least = Math.min(least, usage[k]);
            }
        }
        return least;
    }
}
