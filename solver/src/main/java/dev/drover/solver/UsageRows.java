package dev.drover.solver;

import java.util.Arrays;
import java.util.List;

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
        long[] times = times(uses);
        int[][] begin = new int[times.length][];
        int[][] finish = new int[times.length][];
        budget.check();
        bucketByTime(uses, times, begin, finish);
        int[] kept = new int[times.length];
        int rows = 0;
        for (int i = 0; i + 1 < times.length; i++) {
            if (begin[i].length > 0 && finish[i + 1].length > 0) {
                kept[rows++] = i;
            }
        }
        Use[] all = uses.toArray(new Use[0]);
        Change change = new Change(domain);
        for (int pass = 0; pass < 6; pass++) {
            int fewer = dropImplied(kept, rows, all, begin, finish, change, budget);
            boolean same = fewer == rows;
            rows = fewer;
            if (same) {
                break;
            }
        }
        return build(domain, Arrays.copyOf(kept, rows), all, times, begin, finish, usageLimit, budget);
    }

    /** The different times at which a use begins or ends, in order. */
    private static long[] times(List<Use> uses) {
        long[] times = new long[2 * uses.size()];
        int count = 0;
        for (Use use : uses) {
            times[count++] = use.start;
            times[count++] = use.end;
        }
        Arrays.sort(times);
        int different = 0;
        for (int i = 0; i < count; i++) {
            if (i == 0 || times[i] != times[i - 1]) {
                times[different++] = times[i];
            }
        }
        return Arrays.copyOf(times, different);
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
        /** By variable, from -1 on; the sums of a variable count if its epoch is the present one. */
        private final long[][] sums;

        private final int[] epochs;
        private final long[] high;
        private final long[] low;
        private int epoch;
        private long most;
        private long least;

        Change(int[] domain) {
            sums = new long[domain.length + 1][];
            epochs = new int[sums.length];
            high = new long[sums.length];
            low = new long[sums.length];
            sums[0] = new long[1];
            for (int v = 0; v < domain.length; v++) {
                sums[v + 1] = new long[domain[v]];
            }
        }

        /** Goes back to nothing. */
        void restart() {
            epoch++;
            most = 0;
            least = 0;
        }

        void add(Use use, int sign) {
            int at = use.variable + 1;
            long[] sum = sums[at];
            if (epochs[at] == epoch) {
                most -= high[at];
                least -= low[at];
            } else {
                epochs[at] = epoch;
                Arrays.fill(sum, 0);
            }
            long top = Long.MIN_VALUE;
            long bottom = Long.MAX_VALUE;
            for (int k = 0; k < sum.length; k++) {
                long now = sum[k] + sign * use.usage[k];
                sum[k] = now;
                top = Math.max(top, now);
                bottom = Math.min(bottom, now);
            }
            high[at] = top;
            low[at] = bottom;
            most += top;
            least += bottom;
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

    /** Leaves out rows that a neighbour implies; those that stay move to the front. Returns how many stay. */
    private static int dropImplied(
            int[] kept, int count, Use[] uses, int[][] begin, int[][] finish, Change change, Budget budget) {
        int stay = 0;
        int at = -1;
        change.restart();
        for (int i = 0; i < count; i++) {
            int row = kept[i];
            budget.check();
            while (at < row) {
                at++;
                for (int u : begin[at]) {
                    change.add(uses[u], 1);
                }
                for (int u : finish[at]) {
                    change.add(uses[u], -1);
                }
            }
            if (stay == 0 || !change.neverAbove()) {
                if (stay > 0 && change.neverBelow()) {
                    stay--;
                }
                kept[stay++] = row;
                change.restart();
            }
        }
        return stay;
    }

    private static UsageRows build(
            int[] domain,
            int[] kept,
            Use[] uses,
            long[] times,
            int[][] begin,
            int[][] finish,
            long usageLimit,
            Budget budget) {
        int n = domain.length;
        long[][] now = new long[n][];
        Segments[] segments = new Segments[n];
        for (int v = 0; v < n; v++) {
            now[v] = new long[domain[v]];
            segments[v] = new Segments();
        }
        long[] fixed = new long[kept.length];
        long constant = 0;
        boolean[] touched = new boolean[n];
        int[] list = new int[n];
        int at = -1;
        for (int r = 0; r < kept.length; r++) {
            budget.check();
            int listed = 0;
            while (at < kept[r]) {
                at++;
                for (int side = 0; side < 2; side++) {
                    for (int u : (side == 0 ? begin : finish)[at]) {
                        Use use = uses[u];
                        int sign = side == 0 ? 1 : -1;
                        if (use.variable < 0) {
                            constant += sign * use.usage[0];
                            continue;
                        }
                        long[] mine = now[use.variable];
                        for (int k = 0; k < mine.length; k++) {
                            mine[k] += sign * use.usage[k];
                        }
                        if (!touched[use.variable]) {
                            touched[use.variable] = true;
                            list[listed++] = use.variable;
                        }
                    }
                }
            }
            fixed[r] = constant;
            for (int i = 0; i < listed; i++) {
                int v = list[i];
                touched[v] = false;
                segments[v].add(r, now[v]);
            }
        }
        return new Assembly(domain, kept, times, fixed, segments, usageLimit).finish();
    }

    /** What the values of a variable use, from some rows on until the next. */
    private static final class Segments {
        private static final int[] NONE = {};
        private static final long[][] NO_USAGE = {};

        private int[] starts = NONE;
        private long[][] usage = NO_USAGE;
        private int count;

        void add(int row, long[] now) {
            if (count > 0 && Arrays.equals(usage[count - 1], now)) {
                return;
            }
            if (count == starts.length) {
                starts = Arrays.copyOf(starts, 2 * count + 2);
                usage = Arrays.copyOf(usage, 2 * count + 2);
            }
            starts[count] = row;
            usage[count++] = now.clone();
        }

        private int end(int s, int rows) {
            return s + 1 < count ? starts[s + 1] : rows;
        }
    }

    /** Takes the least use of each segment off the limit, and leaves out the rows that can never pass it. */
    private static final class Assembly {
        private final int[] domain;
        private final int[] kept;
        private final long[] times;
        private final long[] fixed;
        private final Segments[] segments;
        private final long usageLimit;

        Assembly(int[] domain, int[] kept, long[] times, long[] fixed, Segments[] segments, long usageLimit) {
            this.domain = domain;
            this.kept = kept;
            this.times = times;
            this.fixed = fixed;
            this.segments = segments;
            this.usageLimit = usageLimit;
        }

        UsageRows finish() {
            int n = domain.length;
            int rows = kept.length;
            long[] leastChange = new long[rows + 1];
            long[] mostChange = new long[rows + 1];
            for (Segments mine : segments) {
                for (int s = 0; s < mine.count; s++) {
                    long[] u = mine.usage[s];
                    long least = u[0];
                    long most = u[0];
                    for (long value : u) {
                        least = Math.min(least, value);
                        most = Math.max(most, value);
                    }
                    int from = mine.starts[s];
                    int to = mine.end(s, rows);
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
                    time[count] = new TimeSpan(times[kept[r]], times[kept[r] + 1]);
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
                Segments mine = segments[v];
                int[] start = new int[mine.count];
                int[] end = new int[mine.count];
                long[][] usage = new long[mine.count][];
                int left = 0;
                for (int s = 0; s < mine.count; s++) {
                    int from = newRow[mine.starts[s]];
                    int to = newRow[mine.end(s, rows)];
                    long[] u = mine.usage[s];
                    if (from == to || isZero(u)) {
                        continue;
                    }
                    if (left > 0 && end[left - 1] == from && Arrays.equals(usage[left - 1], u)) {
                        end[left - 1] = to;
                    } else {
                        start[left] = from;
                        end[left] = to;
                        usage[left++] = u;
                    }
                }
                segStart[v] = Arrays.copyOf(start, left);
                segEnd[v] = Arrays.copyOf(end, left);
                segUsage[v] = Arrays.copyOf(usage, left);
            }
            return new UsageRows(
                    Arrays.copyOf(limit, count), Arrays.copyOf(time, count), segStart, segEnd, segUsage, broken);
        }

        private static boolean isZero(long[] usage) {
            for (long value : usage) {
                if (value != 0) {
                    return false;
                }
            }
            return true;
        }
    }
}
