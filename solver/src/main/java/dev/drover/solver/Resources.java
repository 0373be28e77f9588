package dev.drover.solver;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/**
 * What a partial choice must remember of the usage rows while the variables are assigned in a fixed order: as few numbers as possible.
 *
 * <pre>
 *   rows that the same later variables use        one number: the greatest usage less limit among them
 *   rows that the same earlier variables used     one number: their usage is equal
 *   a row that all later variables cannot overfill, or no later variable uses      none
 *
 *   numbers after a variable's value k:   y'[c] = max over sources i of  y[old_i] + usage_i[k] - limit_i
 * </pre>
 *
 * In a model whose activations live from the forward to the backward pass this leaves a handful of numbers where there are thousands of
 * rows.
 */
final class Resources {
    private final Core core;
    private final long[][] segmentHash;

    /** The step of each variable, in the order given. */
    final List<Step> steps = new ArrayList<>();

    /** How the numbers change with one variable's value. */
    static final class Step {
        /** Distinct usages of the variable, by value. */
        final long[][] usages;

        /** Old number, index of the usage (-1: none), limit that they must keep. */
        final int[] checkFrom;

        final int[] checkUsage;
        final long[] checkLimit;

        /** Per new number its sources: old number, usage (-1: none), limit to take off. */
        final int[][] from;

        final int[][] usage;
        final long[][] limit;
        /** Below this a number does not matter. */
        final long[] low;

        private Step(long[][] usages, List<Source> checks, List<List<Source>> sources, long[] low) {
            this.usages = usages;
            this.checkFrom = checks.stream().mapToInt(s -> s.column).toArray();
            this.checkUsage = checks.stream().mapToInt(s -> s.usage).toArray();
            this.checkLimit = checks.stream().mapToLong(s -> s.limit).toArray();
            this.from = new int[sources.size()][];
            this.usage = new int[sources.size()][];
            this.limit = new long[sources.size()][];
            for (int c = 0; c < from.length; c++) {
                from[c] = sources.get(c).stream().mapToInt(s -> s.column).toArray();
                usage[c] = sources.get(c).stream().mapToInt(s -> s.usage).toArray();
                limit[c] = sources.get(c).stream().mapToLong(s -> s.limit).toArray();
            }
            this.low = low;
        }

        /** The step of a variable that uses nothing: the numbers stay. */
        static Step nothing(long[] top) {
            List<List<Source>> same = new ArrayList<>();
            long[] low = new long[top.length];
            for (int c = 0; c < top.length; c++) {
                same.add(List.of(new Source(c, -1, 0)));
                low[c] = Long.MIN_VALUE;
            }
            return new Step(new long[0][], List.of(), same, low);
        }

        int columns() {
            return from.length;
        }

        /** Sets the new numbers; false if a limit is passed. */
        boolean take(int value, long[] y, int at, long[] into, int to) {
            for (int i = 0; i < checkFrom.length; i++) {
                long more = checkUsage[i] < 0 ? 0 : usages[checkUsage[i]][value];
                if (y[at + checkFrom[i]] + more > checkLimit[i]) {
                    return false;
                }
            }
            for (int c = 0; c < from.length; c++) {
                long most = low[c];
                for (int i = 0; i < from[c].length; i++) {
                    long more = usage[c][i] < 0 ? 0 : usages[usage[c][i]][value];
                    most = Math.max(most, y[at + from[c][i]] + more - limit[c][i]);
                }
                into[to + c] = most;
            }
            return true;
        }
    }

    private record Source(int column, int usage, long limit) {}

    /** Rows with the same later variables. */
    private static final class Group {
        private final int row;
        private int column;
        private int usage = -1;
        private long limit;
        private long later;
        private long mostLater;
        /** The next of the groups that become one with it in this step, and, of the first, the last. */
        private @Nullable Group alike;

        private Group last = this;

        Group(int row, long limit) {
            this.row = row;
            this.limit = limit;
        }
    }

    /**
     * Takes the capacity of each row, and the variables in their order; others use nothing. Ends where there are more than {@code most}
     * numbers: then the later steps are missing.
     */
    Resources(Core core, long[] capacity, int[] order, int most) {
        this.core = core;
        SplittableRandom random = new SplittableRandom(1);
        segmentHash = new long[core.size][];
        long[] hash = new long[core.rows + 1];
        long[] greatest = new long[core.rows + 1];
        for (int v : order) {
            segmentHash[v] = new long[core.segStart[v].length];
            for (int s = 0; s < segmentHash[v].length; s++) {
                segmentHash[v][s] = random.nextLong();
                hash[core.segStart[v][s]] += segmentHash[v][s];
                hash[core.segEnd[v][s]] -= segmentHash[v][s];
                long top = greatest(core.segUsage[v][s]);
                greatest[core.segStart[v][s]] += top;
                greatest[core.segEnd[v][s]] -= top;
            }
        }
        List<Group> groups = new ArrayList<>();
        Map<Long, Group> byHash = new HashMap<>();
        long hashNow = 0;
        long mostNow = 0;
        for (int r = 0; r < core.rows; r++) {
            hashNow += hash[r];
            mostNow += greatest[r];
            if (mostNow <= capacity[r]) {
                continue;
            }
            Group known = byHash.get(hashNow);
            if (known != null) {
                known.limit = Math.min(known.limit, capacity[r]);
                continue;
            }
            Group group = new Group(r, capacity[r]);
            group.later = hashNow;
            group.mostLater = mostNow;
            byHash.put(hashNow, group);
            groups.add(group);
        }
        long[] top = {0};
        for (int v : order) {
            if (core.segStart[v].length == 0) {
                steps.add(Step.nothing(top));
                continue;
            }
            Draft draft = new Draft(groups, top, v);
            steps.add(draft.step);
            groups = draft.next;
            top = draft.top;
            if (top.length > most) {
                return;
            }
        }
    }

    /** The number of columns at most. */
    int widest() {
        return steps.stream().mapToInt(Step::columns).max().orElse(0);
    }

    private static long greatest(long[] usage) {
        long most = 0;
        for (long u : usage) {
            most = Math.max(most, u);
        }
        return most;
    }

    /** One step: which groups become one, and which numbers are left. */
    private final class Draft {
        private final Step step;
        private final List<Group> next = new ArrayList<>();
        private long[] top;

        private final int v;
        private final List<long[]> usages = new ArrayList<>();
        private final List<Long> usageKeys = new ArrayList<>();
        private final List<List<Source>> sources = new ArrayList<>();
        private final List<Long> low = new ArrayList<>();
        private final Map<List<Source>, Integer> columnBySources = new HashMap<>();

        Draft(List<Group> groups, long[] topBefore, int v) {
            this.v = v;
            long[] mostOfSegment = new long[core.segStart[v].length];
            for (int s = 0; s < mostOfSegment.length; s++) {
                mostOfSegment[s] = greatest(core.segUsage[v][s]);
            }
            for (Group group : groups) {
                passed(group, mostOfSegment);
            }
            // By old number and usage: the limit to check, and the new number of a group with this source alone.
            int stride = usages.size() + 1;
            long[] checkLimit = new long[topBefore.length * stride];
            int[] columnBySource = new int[checkLimit.length];
            Arrays.fill(columnBySource, -1);
            List<Source> checks = new ArrayList<>();
            Map<Long, Group> byLater = new HashMap<>(2 * groups.size());
            List<Group> leaders = new ArrayList<>(groups.size());
            long[] topOfUsage = new long[stride];
            for (int u = 0; u + 1 < stride; u++) {
                topOfUsage[u + 1] = greatest(usages.get(u));
            }
            boolean[] checked = new boolean[checkLimit.length];
            for (Group group : groups) {
                int source = group.column * stride + group.usage + 1;
                long topNow = topBefore[group.column] + topOfUsage[group.usage + 1];
                if (topNow > group.limit) {
                    checkLimit[source] = checked[source] ? Math.min(checkLimit[source], group.limit) : group.limit;
                    checked[source] = true;
                }
                group.alike = null;
                group.last = group;
                if (group.mostLater > 0 && topNow + group.mostLater > group.limit) {
                    Group leader = byLater.putIfAbsent(group.later, group);
                    if (leader == null) {
                        leaders.add(group);
                    } else {
                        leader.last.alike = group;
                        leader.last = group;
                    }
                }
            }
            for (int source = 0; source < checked.length; source++) {
                if (checked[source]) {
                    checks.add(new Source(source / stride, source % stride - 1, checkLimit[source]));
                }
            }
            for (Group leader : leaders) {
                boolean alone = leader.alike == null;
                int source = leader.column * stride + leader.usage + 1;
                int column = alone ? columnBySource[source] : -1;
                if (column < 0) {
                    column = alone ? add(List.of(new Source(leader.column, leader.usage, 0))) : merge(leader);
                }
                if (alone) {
                    columnBySource[source] = column;
                }
                leader.column = column;
                low.set(column, Math.min(low.get(column), leader.limit - leader.mostLater));
                next.add(leader);
            }
            top = new long[sources.size()];
            for (int c = 0; c < top.length; c++) {
                top[c] = low.get(c);
                for (Source source : sources.get(c)) {
                    top[c] = Math.max(top[c], topBefore[source.column] + topOfUsage[source.usage + 1] - source.limit);
                }
            }
            step = new Step(
                    usages.toArray(new long[0][]),
                    checks,
                    sources,
                    low.stream().mapToLong(Long::longValue).toArray());
        }

        /** Takes the variable out of what a group has yet to come, and finds what it uses there. */
        private void passed(Group group, long[] mostOfSegment) {
            long key = 0;
            boolean uses = false;
            for (int s = 0; s < mostOfSegment.length; s++) {
                if (core.segStart[v][s] <= group.row && group.row < core.segEnd[v][s]) {
                    key += segmentHash[v][s];
                    group.mostLater -= mostOfSegment[s];
                    uses = true;
                }
            }
            group.later -= key;
            group.usage = -1;
            for (int u = 0; u < usages.size() && uses && group.usage < 0; u++) {
                group.usage = usageKeys.get(u) == key ? u : -1;
            }
            if (uses && group.usage < 0) {
                group.usage = usages.size();
                usages.add(sum(group.row));
                usageKeys.add(key);
            }
        }

        private int add(List<Source> key) {
            return columnBySources.computeIfAbsent(key, k -> {
                sources.add(k);
                low.add(Long.MAX_VALUE);
                return sources.size() - 1;
            });
        }

        /** The number of groups that became one; sets the limit of the first. */
        private int merge(Group leader) {
            List<Source> mine = sources(leader);
            leader.limit = 0;
            if (mine.size() == 1) {
                leader.limit = mine.get(0).limit;
                mine = List.of(new Source(mine.get(0).column, mine.get(0).usage, 0));
            }
            return add(mine);
        }

        private long[] sum(int row) {
            long[] sum = new long[core.domain[v]];
            for (int s = 0; s < core.segStart[v].length; s++) {
                if (core.segStart[v][s] <= row && row < core.segEnd[v][s]) {
                    for (int k = 0; k < sum.length; k++) {
                        sum[k] += core.segUsage[v][s][k];
                    }
                }
            }
            return sum;
        }

        /** The different numbers of groups that became one, each with its least limit. */
        private static List<Source> sources(Group leader) {
            List<Source> mine = new ArrayList<>(1);
            for (Group group = leader; group != null; group = group.alike) {
                boolean known = false;
                for (int i = 0; i < mine.size() && !known; i++) {
                    Source source = mine.get(i);
                    if (source.column == group.column && source.usage == group.usage) {
                        mine.set(i, new Source(source.column, source.usage, Math.min(source.limit, group.limit)));
                        known = true;
                    }
                }
                if (!known) {
                    mine.add(new Source(group.column, group.usage, group.limit));
                }
            }
            mine.sort((a, b) ->
                    a.column != b.column ? Integer.compare(a.column, b.column) : Integer.compare(a.usage, b.usage));
            return List.copyOf(mine);
        }
    }
}
