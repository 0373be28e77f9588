package dev.drover.solver;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The usage limit at every time, brought to the few rows that matter.
 *
 * <pre>
 *   times  |--------|-----|---------|----|-----|      between any start and end
 *   kept      row 0           row 1        row 2      the others are implied by a kept neighbour,
 *                                                     or can never pass the limit
 * </pre>
 *
 * A row r is implied by a row q if  usage_r(x) &lt;= usage_q(x)  for every x; checked group by group with the greatest
 * difference of each, between neighbours in time.
 */
final class UsageRows {
    final long[] limit;
    final TimeSpan[] rowTime;
    final int[][] segStart;
    final int[][] segEnd;
    final long[][][] segUsage;

    /** The first row that no choice can keep within its limit, -1 if there is none. */
    final int brokenRow;

    UsageRows(long[] limit, TimeSpan[] rowTime, int[][] segStart, int[][] segEnd, long[][][] segUsage, int brokenRow) {
        this.limit = limit;
        this.rowTime = rowTime;
        this.segStart = segStart;
        this.segEnd = segEnd;
        this.segUsage = segUsage;
        this.brokenRow = brokenRow;
    }

    UsageRows withSegments(int[][] newStart, int[][] newEnd, long[][][] newUsage) {
        return new UsageRows(limit, rowTime, newStart, newEnd, newUsage, brokenRow);
    }

    /** One node's use: what each value of its variable uses while it is alive. */
    static final class Use {
        private final int variable;
        private final long start;
        private final long end;
        private final long[] usage;

        /** Takes {@code variable < 0} as a constant use, of one value. */
        Use(int variable, long start, long end, long[] usage) {
            this.variable = variable;
            this.start = start;
            this.end = end;
            this.usage = usage;
        }
    }

    /** Finds the rows; throws {@link Budget.Late} if the time ends before. */
    static UsageRows of(int[] domain, List<Use> uses, long usageLimit, Budget budget) {
        if (uses.isEmpty()) {
            int[][] none = new int[domain.length][];
            Arrays.fill(none, new int[0]);
            long[][][] noUsage = new long[domain.length][][];
            Arrays.fill(noUsage, new long[0][]);
            return new UsageRows(new long[0], new TimeSpan[0], none, none.clone(), noUsage, -1);
        }
        long[] times = uses.stream()
                .flatMapToLong(u -> Arrays.stream(new long[] {u.start, u.end}))
                .sorted()
                .distinct()
                .toArray();
        int[][] begin = new int[times.length][];
        int[][] finish = new int[times.length][];
        budget.check();
        bucketByTime(uses, times, begin, finish);
        List<Integer> kept = new ArrayList<>();
        for (int i = 0; i + 1 < times.length; i++) {
            if (begin[i].length > 0 && finish[i + 1].length > 0) {
                kept.add(i);
            }
        }
        for (int pass = 0; pass < 6; pass++) {
            List<Integer> fewer = dropImplied(kept, uses, begin, finish, budget);
            boolean same = fewer.size() == kept.size();
            kept = fewer;
            if (same) {
                break;
            }
        }
        return build(domain, kept, uses, times, begin, finish, usageLimit, budget);
    }

    private static void bucketByTime(List<Use> uses, long[] times, int[][] begin, int[][] finish) {
        int[] startCount = new int[times.length];
        int[] endCount = new int[times.length];
        int[] startAt = new int[uses.size()];
        int[] endAt = new int[uses.size()];
        for (int u = 0; u < uses.size(); u++) {
            startAt[u] = Arrays.binarySearch(times, uses.get(u).start);
            endAt[u] = Arrays.binarySearch(times, uses.get(u).end);
            startCount[startAt[u]]++;
            endCount[endAt[u]]++;
        }
        for (int i = 0; i < times.length; i++) {
            begin[i] = new int[startCount[i]];
            finish[i] = new int[endCount[i]];
        }
        for (int u = 0; u < uses.size(); u++) {
            begin[startAt[u]][--startCount[startAt[u]]] = u;
            finish[endAt[u]][--endCount[endAt[u]]] = u;
        }
    }

    /** Sums of the use of each variable since some row, with the greatest and least total that they can make. */
    private static final class Change {
        private final Map<Integer, long[]> byVariable = new HashMap<>();
        private long most;
        private long least;

        void add(Use use, int sign) {
            long[] sum = byVariable.computeIfAbsent(use.variable, v -> new long[use.usage.length]);
            count(sum, -1);
            for (int k = 0; k < sum.length; k++) {
                sum[k] += sign * use.usage[k];
            }
            count(sum, 1);
        }

        private void count(long[] sum, int sign) {
            long high = Long.MIN_VALUE;
            long low = Long.MAX_VALUE;
            for (long value : sum) {
                high = Math.max(high, value);
                low = Math.min(low, value);
            }
            most += sign * high;
            least += sign * low;
        }

        /** Whether the change can only lower the usage. */
        boolean neverAbove() {
            return most <= 0;
        }

        /** Whether the change can only raise the usage. */
        boolean neverBelow() {
            return least >= 0;
        }
    }

    private static List<Integer> dropImplied(
            List<Integer> rows, List<Use> uses, int[][] begin, int[][] finish, Budget budget) {
        List<Integer> kept = new ArrayList<>();
        Change change = new Change();
        int at = -1;
        for (int row : rows) {
            budget.check();
            while (at < row) {
                at++;
                for (int u : begin[at]) {
                    change.add(uses.get(u), 1);
                }
                for (int u : finish[at]) {
                    change.add(uses.get(u), -1);
                }
            }
            if (kept.isEmpty()) {
                kept.add(row);
                change = new Change();
            } else if (!change.neverAbove()) {
                if (change.neverBelow()) {
                    kept.remove(kept.size() - 1);
                }
                kept.add(row);
                change = new Change();
            }
        }
        return kept;
    }

    private static UsageRows build(
            int[] domain,
            List<Integer> kept,
            List<Use> uses,
            long[] times,
            int[][] begin,
            int[][] finish,
            long usageLimit,
            Budget budget) {
        int n = domain.length;
        long[][] now = new long[n][];
        List<List<long[]>> usage = new ArrayList<>();
        List<List<Integer>> starts = new ArrayList<>();
        for (int v = 0; v < n; v++) {
            now[v] = new long[domain[v]];
            usage.add(new ArrayList<>());
            starts.add(new ArrayList<>());
        }
        long[] fixed = new long[kept.size()];
        long constant = 0;
        boolean[] touched = new boolean[n];
        int at = -1;
        for (int r = 0; r < kept.size(); r++) {
            budget.check();
            List<Integer> list = new ArrayList<>();
            while (at < kept.get(r)) {
                at++;
                for (int side = 0; side < 2; side++) {
                    for (int u : (side == 0 ? begin : finish)[at]) {
                        Use use = uses.get(u);
                        int sign = side == 0 ? 1 : -1;
                        if (use.variable < 0) {
                            constant += sign * use.usage[0];
                            continue;
                        }
                        for (int k = 0; k < use.usage.length; k++) {
                            now[use.variable][k] += sign * use.usage[k];
                        }
                        if (!touched[use.variable]) {
                            touched[use.variable] = true;
                            list.add(use.variable);
                        }
                    }
                }
            }
            fixed[r] = constant;
            for (int v : list) {
                touched[v] = false;
                List<long[]> segments = usage.get(v);
                if (segments.isEmpty() || !Arrays.equals(segments.get(segments.size() - 1), now[v])) {
                    segments.add(now[v].clone());
                    starts.get(v).add(r);
                }
            }
        }
        return new Assembly(domain, kept, times, fixed, usage, starts, usageLimit).finish();
    }

    /** Takes the least use of each segment off the limit, and leaves out the rows that can never pass it. */
    private static final class Assembly {
        private final int[] domain;
        private final List<Integer> kept;
        private final long[] times;
        private final long[] fixed;
        private final List<List<long[]>> usage;
        private final List<List<Integer>> starts;
        private final long usageLimit;

        Assembly(
                int[] domain,
                List<Integer> kept,
                long[] times,
                long[] fixed,
                List<List<long[]>> usage,
                List<List<Integer>> starts,
                long usageLimit) {
            this.domain = domain;
            this.kept = kept;
            this.times = times;
            this.fixed = fixed;
            this.usage = usage;
            this.starts = starts;
            this.usageLimit = usageLimit;
        }

        UsageRows finish() {
            int n = domain.length;
            int rows = kept.size();
            long[] leastChange = new long[rows + 1];
            long[] mostChange = new long[rows + 1];
            for (int v = 0; v < n; v++) {
                for (int s = 0; s < usage.get(v).size(); s++) {
                    long[] u = usage.get(v).get(s);
                    long least = Arrays.stream(u).min().orElse(0);
                    long most = Arrays.stream(u).max().orElse(0);
                    int from = starts.get(v).get(s);
                    int to = end(v, s);
                    leastChange[from] += least;
                    leastChange[to] -= least;
                    mostChange[from] += most;
                    mostChange[to] -= most;
                    for (int k = 0; k < u.length; k++) {
                        u[k] -= least;
                    }
                }
            }
            int[] newRow = new int[rows + 1];
            long[] limit = new long[rows];
            TimeSpan[] time = new TimeSpan[rows];
            int count = 0;
            int broken = -1;
            long least = 0;
            long most = 0;
            for (int r = 0; r < rows; r++) {
                least += leastChange[r];
                most += mostChange[r];
                newRow[r] = count;
                if (usageLimit != StrategyProblem.UNLIMITED && fixed[r] + most > usageLimit) {
                    limit[count] = usageLimit - fixed[r] - least;
                    time[count] = new TimeSpan(times[kept.get(r)], times[kept.get(r) + 1]);
                    if (limit[count] < 0 && (broken < 0 || limit[count] < limit[broken])) {
                        broken = count;
                    }
                    count++;
                }
            }
            newRow[rows] = count;
            int[][] segStart = new int[n][];
            int[][] segEnd = new int[n][];
            long[][][] segUsage = new long[n][][];
            for (int v = 0; v < n; v++) {
                List<int[]> spans = new ArrayList<>();
                List<long[]> values = new ArrayList<>();
                for (int s = 0; s < usage.get(v).size(); s++) {
                    int from = newRow[starts.get(v).get(s)];
                    int to = newRow[end(v, s)];
                    long[] u = usage.get(v).get(s);
                    if (from == to || Arrays.stream(u).allMatch(value -> value == 0)) {
                        continue;
                    }
                    int last = spans.size() - 1;
                    if (last >= 0 && spans.get(last)[1] == from && Arrays.equals(values.get(last), u)) {
                        spans.get(last)[1] = to;
                    } else {
                        spans.add(new int[] {from, to});
                        values.add(u);
                    }
                }
                segStart[v] = spans.stream().mapToInt(span -> span[0]).toArray();
                segEnd[v] = spans.stream().mapToInt(span -> span[1]).toArray();
                segUsage[v] = values.toArray(new long[0][]);
            }
            return new UsageRows(
                    Arrays.copyOf(limit, count), Arrays.copyOf(time, count), segStart, segEnd, segUsage, broken);
        }

        private int end(int v, int s) {
            return s + 1 < starts.get(v).size() ? starts.get(v).get(s + 1) : kept.size();
        }
    }
}
