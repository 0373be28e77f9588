package dev.drover.solver;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * An order of the variables from one end of the graph to the other, so that few assigned ones have neighbours that are not assigned
 * yet (the frontier): for models of many layers it runs along the layers.
 *
 * <p>Greedy: the neighbour of the frontier that leaves the smallest product of domains, among equal ones that of the oldest member.
 */
final class LinearOrder {
    /** Neighbours of a member that are looked at. */
    private static final int MOST_LOOKS = 24;

    private final Core core;
    private final int[] order;
    private int count;
    private final boolean[] assigned;
    /** Neighbours of each variable that are not assigned, edges counted. */
    private final int[] open;

    private final List<Integer> frontier = new ArrayList<>();

    private LinearOrder(Core core) {
        this.core = core;
        this.order = new int[core.size];
        this.assigned = new boolean[core.size];
        this.open = new int[core.size];
        for (int v = 0; v < core.size; v++) {
            open[v] = core.incident[v].length;
        }
    }

    /** Returns the variables, the first to assign first. */
    static int[] of(Core core) {
        LinearOrder linear = new LinearOrder(core);
        for (int v = 0; v < core.size; v++) {
            if (!linear.assigned[v]) {
                linear.assign(linear.farthest(linear.farthest(v)));
                while (!linear.frontier.isEmpty()) {
                    linear.assign(linear.next());
                }
            }
        }
        return linear.order;
    }

    /** The variable that a breadth-first search reaches last. */
    private int farthest(int from) {
        boolean[] seen = new boolean[core.size];
        ArrayDeque<Integer> work = new ArrayDeque<>(List.of(from));
        seen[from] = true;
        int last = from;
        while (!work.isEmpty()) {
            last = work.poll();
            for (int e : core.incident[last]) {
                int u = core.other(e, last);
                if (!seen[u]) {
                    seen[u] = true;
                    work.add(u);
                }
            }
        }
        return last;
    }

    private void assign(int v) {
        assigned[v] = true;
        order[count++] = v;
        for (int e : core.incident[v]) {
            open[core.other(e, v)]--;
        }
        frontier.add(v);
        frontier.removeIf(u -> open[u] == 0);
    }

    private int next() {
        int best = -1;
        double least = Double.POSITIVE_INFINITY;
        for (int u : frontier) {
            int looks = 0;
            for (int e : core.incident[u]) {
                int v = core.other(e, u);
                if (assigned[v] || looks++ >= MOST_LOOKS) {
                    continue;
                }
                double more = growth(v);
                if (more < least) {
                    least = more;
                    best = v;
                }
            }
        }
        return best;
    }

    /** Logarithm of the factor by which the frontier grows. */
    private double growth(int v) {
        int[] edges = core.incident[v];
        double sum = open[v] > 0 ? Math.log(core.domain[v]) : 0;
        int[] ends = new int[edges.length];
        for (int i = 0; i < edges.length; i++) {
            ends[i] = core.other(edges[i], v);
        }
        Arrays.sort(ends);
        for (int i = 0; i < ends.length; ) {
            int parallel = i;
            while (parallel < ends.length && ends[parallel] == ends[i]) {
                parallel++;
            }
            if (assigned[ends[i]] && open[ends[i]] == parallel - i) {
                sum -= Math.log(core.domain[ends[i]]);
            }
            i = parallel;
        }
        return sum;
    }
}
