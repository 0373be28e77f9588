package dev.drover.solver;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;

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

        Group(int row, long limit) {
            this.row = row;
            this.limit = limit;
        }
    }

    /** Takes the capacity of each row, and the variables in their order; others use nothing. */
    Resources(Core core, long[] capacity, int[] order) {
        this.core = core;
        SplittableRandom random = new SplittableRandom(1);
        segmentHash = new long[core.size][];
        long[] hash = new long[core.rows + 1];
        long[] most = new long[core.rows + 1];
        for (int v : order) {
            segmentHash[v] = new long[core.segStart[v].length];
            for (int s = 0; s < segmentHash[v].length; s++) {
                segmentHash[v][s] = random.nextLong();
                hash[core.segStart[v][s]] += segmentHash[v][s];
                hash[core.segEnd[v][s]] -= segmentHash[v][s];
                long top = Arrays.stream(core.segUsage[v][s]).max().orElse(0);
                most[core.segStart[v][s]] += top;
                most[core.segEnd[v][s]] -= top;
            }
        }
        List<Group> groups = new ArrayList<>();
        Map<Long, Group> byHash = new HashMap<>();
        long hashNow = 0;
        long mostNow = 0;
        for (int r = 0; r < core.rows; r++) {
            hashNow += hash[r];
            mostNow += most[r];
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
            Draft draft = new Draft(groups, top, v);
            steps.add(draft.step);
            groups = draft.next;
            top = draft.top;
        }
    }

    /** The number of columns at most. */
    int widest() {
        return steps.stream().mapToInt(Step::columns).max().orElse(0);
    }

    /** One step: which groups become one, and which numbers are left. */
    private final class Draft {
        private final Step step;
        private final List<Group> next = new ArrayList<>();
        private long[] top;

        Draft(List<Group> groups, long[] topBefore, int v) {
            List<long[]> usages = new ArrayList<>();
            Map<List<Integer>, Integer> usageBySegments = new HashMap<>();
            Map<List<Integer>, Source> checks = new HashMap<>();
            List<List<Integer>> checkOrder = new ArrayList<>();
            Map<Long, List<Group>> merged = new HashMap<>();
            List<List<Group>> mergedOrder = new ArrayList<>();
            for (Group group : groups) {
                List<Integer> segments = new ArrayList<>(1);
                for (int s = 0; s < core.segStart[v].length; s++) {
                    if (core.segStart[v][s] <= group.row && group.row < core.segEnd[v][s]) {
                        segments.add(s);
                        group.later -= segmentHash[v][s];
                        group.mostLater -=
                                Arrays.stream(core.segUsage[v][s]).max().orElse(0);
                    }
                }
                group.usage = segments.isEmpty()
                        ? -1
                        : usageBySegments.computeIfAbsent(segments, k -> {
                            usages.add(sum(v, k));
                            return usages.size() - 1;
                        });
                long topNow = topBefore[group.column] + top(usages, group.usage);
                if (topNow > group.limit) {
                    List<Integer> key = List.of(group.column, group.usage);
                    Source known = checks.get(key);
                    if (known == null) {
                        checkOrder.add(key);
                    }
                    checks.put(
                            key,
                            new Source(
                                    group.column,
                                    group.usage,
                                    known == null ? group.limit : Math.min(known.limit, group.limit)));
                }
                if (group.mostLater > 0 && topNow + group.mostLater > group.limit) {
                    merged.computeIfAbsent(group.later, k -> {
                                List<Group> list = new ArrayList<>(1);
                                mergedOrder.add(list);
                                return list;
                            })
                            .add(group);
                }
            }
            Map<List<Source>, Integer> columnBySources = new HashMap<>();
            List<List<Source>> sources = new ArrayList<>();
            List<Long> low = new ArrayList<>();
            for (List<Group> list : mergedOrder) {
                List<Source> mine = sources(list);
                long limit = 0;
                if (mine.size() == 1) {
                    limit = mine.get(0).limit;
                    mine = List.of(new Source(mine.get(0).column, mine.get(0).usage, 0));
                }
                List<Source> key = mine;
                int column = columnBySources.computeIfAbsent(key, k -> {
                    sources.add(k);
                    low.add(Long.MAX_VALUE);
                    return sources.size() - 1;
                });
                Group first = list.get(0);
                first.column = column;
                first.limit = limit;
                low.set(column, Math.min(low.get(column), limit - first.mostLater));
                next.add(first);
            }
            top = new long[sources.size()];
            for (int c = 0; c < top.length; c++) {
                top[c] = low.get(c);
                for (Source source : sources.get(c)) {
                    top[c] = Math.max(top[c], topBefore[source.column] + top(usages, source.usage) - source.limit);
                }
            }
            step = new Step(
                    usages.toArray(new long[0][]),
                    checkOrder.stream().map(checks::get).toList(),
                    sources,
                    low.stream().mapToLong(Long::longValue).toArray());
        }

        private long top(List<long[]> usages, int usage) {
            return usage < 0 ? 0 : Arrays.stream(usages.get(usage)).max().orElse(0);
        }

        private long[] sum(int v, List<Integer> segments) {
            long[] sum = new long[core.domain[v]];
            for (int s : segments) {
                for (int k = 0; k < sum.length; k++) {
                    sum[k] += core.segUsage[v][s][k];
                }
            }
            return sum;
        }

        /** The different numbers of a group, each with its least limit. */
        private List<Source> sources(List<Group> list) {
            List<Source> mine = new ArrayList<>(1);
            for (Group group : list) {
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
