package dev.drover.solver;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.function.IntFunction;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

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

    /** Returns the variables, the first to assign first; the parts that no edge joins one after the other. */
    static int[] of(Core core) {
        LinearOrder linear = new LinearOrder(core);
        linear.assignAll();
        return linear.order;
    }

    /**
     * Returns the variables, the first to assign first, where only usage joins some parts: side by side, so that those come together that
     * begin or end to use something at nearly the same time. Null if all is one part.
     */
    static int @Nullable [] sideBySide(Core core) {
        LinearOrder linear = new LinearOrder(core);
        List<Integer> starts = linear.assignAll();
        return starts.size() < 2 || core.rows == 0 ? null : linear.merged(starts);
    }

    /** Assigns all; returns at which count each part begins. */
    private List<Integer> assignAll() {
        List<Integer> starts = new ArrayList<>();
        for (int v = 0; v < core.size; v++) {
            if (!assigned[v]) {
                starts.add(count);
                assign(farthest(farthest(v)));
                while (!frontier.isEmpty()) {
                    assign(next());
                }
            }
        }
        return starts;
    }

    /** Each part in its own order, or the reverse, merged by the distance from one end of all. */
    private int[] merged(List<Integer> starts) {
        int[] distance = distances();
        // By distance, then part, then position.
        List<long[]> all = new ArrayList<>(core.size);
        for (int p = 0; p < starts.size(); p++) {
            int from = starts.get(p);
            int to = p + 1 < starts.size() ? starts.get(p + 1) : core.size;
            boolean reversed = distance[order[to - 1]] < distance[order[from]];
            int farthest = 0;
            for (int i = from; i < to; i++) {
                int v = order[reversed ? from + to - 1 - i : i];
                farthest = Math.max(farthest, distance[v]);
                all.add(new long[] {farthest, i, v});
            }
        }
        all.sort(Comparator.<long[]>comparingLong(key -> key[0]).thenComparingLong(key -> key[1]));
        return all.stream().mapToInt(key -> (int) key[2]).toArray();
    }

    /** Steps from the variable at one end, over edges and between those that begin or end next to each other. */
    private int[] distances() {
        List<int[]> ends = new ArrayList<>();
        for (int v = 0; v < core.size; v++) {
            for (int s = 0; s < core.segStart[v].length; s++) {
                // At the first and the last row begins and ends what always lives.
                if (core.segStart[v][s] > 0) {
                    ends.add(new int[] {core.segStart[v][s], v});
                }
                if (core.segEnd[v][s] < core.rows) {
                    ends.add(new int[] {core.segEnd[v][s], v});
                }
            }
        }
        ends.sort(Comparator.<int[]>comparingInt(end -> end[0]).thenComparingInt(end -> end[1]));
        List<List<Integer>> beside = new ArrayList<>();
        for (int v = 0; v < core.size; v++) {
            beside.add(new ArrayList<>());
        }
        for (int i = 1; i < ends.size(); i++) {
            beside.get(ends.get(i)[1]).add(ends.get(i - 1)[1]);
            beside.get(ends.get(i - 1)[1]).add(ends.get(i)[1]);
        }
        IntFunction<IntStream> near =
                v -> IntStream.concat(joined(v), beside.get(v).stream().mapToInt(Integer::intValue));
        // All that begin or end somewhere are joined to one another.
        int end = ends.isEmpty() ? 0 : ends.get(0)[1];
        int[] first = new int[core.size];
        int unused = walk(near, end, first);
        for (int v = 0; v < core.size; v++) {
            end = first[v] > first[end] ? v : end;
        }
        int[] steps = new int[core.size];
        int unusedToo = walk(near, end, steps);
        return steps;
    }

    /** The variables that edges join to one. */
    private IntStream joined(int v) {
        return Arrays.stream(core.incident[v]).map(e -> core.other(e, v));
    }

    /** The variable that a breadth-first search reaches last. */
    private int farthest(int from) {
        return walk(this::joined, from, new int[core.size]);
    }

    /** Breadth first; sets the steps to each variable that is reached, and returns the last. */
    private int walk(IntFunction<IntStream> near, int from, int[] steps) {
        boolean[] seen = new boolean[core.size];
        ArrayDeque<Integer> work = new ArrayDeque<>(List.of(from));
        seen[from] = true;
        int last = from;
        while (!work.isEmpty()) {
            int v = work.remove();
            last = v;
            near.apply(v).filter(u -> !seen[u]).forEach(u -> {
                seen[u] = true;
                steps[u] = steps[v] + 1;
                work.add(u);
            });
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
