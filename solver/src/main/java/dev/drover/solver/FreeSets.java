package dev.drover.solver;

import java.util.Arrays;
import java.util.SplittableRandom;

/**
 * Chooses the variables that a neighbourhood frees.
 *
 * <pre>
 *   ball        random walks outward from some centres, which are
 *               any variables, those of the focus, or those that use much in a given row
 *   lively      variables whose decoded value changed lately: where the prices leave the choice open
 *   difference  where two choices disagree
 * </pre>
 */
final class FreeSets {
    private final Core core;
    private final SplittableRandom random;
    private final int[] mark;
    private int stamp;
    private int[] focus = new int[0];

    FreeSets(Core core, SplittableRandom random) {
        this.core = core;
        this.random = random;
        this.mark = new int[core.size];
    }

    /** Most centres are taken from these variables from now on; from all if there are none. */
    void focusOn(int[] variables) {
        focus = variables;
    }

    int[] all() {
        int[] all = new int[core.size];
        Arrays.setAll(all, v -> v);
        return all;
    }

    /** The variables at which two choices differ. */
    int[] difference(int[] x, int[] y) {
        int[] found = new int[core.size];
        int count = 0;
        for (int v = 0; v < core.size; v++) {
            if (x[v] != y[v]) {
                found[count++] = v;
            }
        }
        return Arrays.copyOf(found, count);
    }

    /**
     * Random walks outward from some centres.
     *
     * @param size how many variables to free
     * @param centers from how many places, each with an equal part
     * @param row the row in which the centres use much, -1 for any centres
     * @param x the present choice
     */
    int[] ball(int size, int centers, int row, int[] x) {
        stamp++;
        int[] found = new int[size];
        int count = 0;
        int[] frontier = new int[size + 1];
        for (int c = 0; c < centers; c++) {
            int quota = (int) ((long) size * (c + 1) / centers);
            int first = center(row, x);
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

    private int any() {
        return focus.length > 0 && random.nextInt(8) > 0
                ? focus[random.nextInt(focus.length)]
                : random.nextInt(core.size);
    }

    /** A first variable: any, or one that could use less in the row. */
    private int center(int row, int[] x) {
        int v = any();
        if (row < 0) {
            return v;
        }
        int best = v;
        long most = -1;
        for (int tries = 0, seen = 0; tries < 400 && seen < 3; tries++, v = any()) {
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
}
