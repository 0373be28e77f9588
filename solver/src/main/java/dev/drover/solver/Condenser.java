package dev.drover.solver;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Eliminates variables of one or two neighbours from a {@link Core} where that loses nothing, whatever the prices of usage.
 *
 * <pre>
 *   leaf     u -- v           v goes: its best value for each value of u is added to u's costs
 *   chain    u -- v -- w      v goes: the best over its values is a new edge u -- w
 *
 *   with usage: only if the best value for each choice of the neighbours also uses least in all rows, and what it uses depends on one
 *   neighbour alone (or on none); that use moves to the neighbour
 * </pre>
 *
 * After each step values that became dominated go. All tables are interned, and every step is remembered by the tables that it takes:
 * the repeated layers of a model cost one layer's arithmetic.
 */
final class Condenser {
    /** Entries of a new edge at most. */
    private static final int MOST_ENTRIES = 1 << 14;

    /** Edges of a hub at least. */
    private static final int HUB = 24;

    private final Core core;
    private final Budget budget;
    /** In the problem's own unit, for messages. */
    private final long usageLimit;

    private final Tables tables = new Tables();
    private final Dominance dominance;
    private final double[][] unary;
    private final int[][] kept;
    private final List<Links> edges = new ArrayList<>();
    private final List<List<Use>> uses = new ArrayList<>();
    private final ArrayDeque<Integer> work = new ArrayDeque<>();
    /** Variables of two neighbours, which wait until no leaf is left: a leaf costs a row for each value, a chain a table. */
    private final ArrayDeque<Integer> chains = new ArrayDeque<>();

    /** Variables of many edges, which wait until all around them is done: a look at one costs as much as at a hundred others. */
    private final ArrayDeque<Integer> hubs = new ArrayDeque<>();

    private final boolean[] queued;
    private final boolean[] gone;
    private final List<Step> steps = new ArrayList<>();
    private final Map<List<Object>, Best> bestByLook = new HashMap<>();
    private double constant;

    /** What a variable uses in the rows {@code start .. end - 1}, by its present values. */
    private static final class Use {
        private final int start;
        private final int end;
        private final long[] usage;

        Use(int start, int end, long[] usage) {
            this.start = start;
            this.end = end;
            this.usage = usage;
        }

        private int start() {
            return start;
        }

        private int end() {
            return end;
        }

        private long[] usage() {
            return usage;
        }
    }

    /** One end of a step: a variable and the values that it had then, as positions in the core. */
    private static final class End {
        private static final End NONE = new End(-1, new int[1]);

        private final int variable;
        private final int[] values;

        End(int variable, int[] values) {
            this.variable = variable;
            this.values = values;
        }

        private int position(int[] x) {
            return variable < 0 ? 0 : Arrays.binarySearch(values, x[variable]);
        }
    }

    /** A variable that went: the position of its best value for each pair of values of its neighbours. */
    private static final class Step {
        private final End gone;
        private final End first;
        private final End second;
        private final int[] best;

        Step(End gone, End first, End second, int[] best) {
            this.gone = gone;
            this.first = first;
            this.second = second;
            this.best = best;
        }

        private void decide(int[] x) {
            x[gone.variable] = gone.values[best[first.position(x) * second.values.length + second.position(x)]];
        }
    }

    /** The best values of a variable for each pair of its neighbours' values. */
    private static final class Best {
        /** Least costs, null if the variable cannot go. */
        private final double @Nullable [] cost;
        /** Positions of the best values. */
        private final int[] best;
        /** Neighbour on which the use depends: 0 or 1. */
        private final int side;
        /** Per use, by the value of that neighbour. */
        private final long[][] usage;

        Best(double @Nullable [] cost, int[] best, int side, long[][] usage) {
            this.cost = cost;
            this.best = best;
            this.side = side;
            this.usage = usage;
        }
    }

    private Condenser(Core core, boolean dominating, long usageLimit, Budget budget) {
        this.core = core;
        this.usageLimit = usageLimit;
        this.budget = budget;
        this.dominance = new Dominance(dominating);
        this.constant = core.constant;
        this.unary = new double[core.size][];
        this.kept = new int[core.size][];
        this.queued = new boolean[core.size];
        this.gone = new boolean[core.size];
        for (int v = 0; v < core.size; v++) {
            unary[v] = core.unary[v];
            kept[v] = tables.upTo(core.domain[v]);
            edges.add(new Links());
            List<Use> mine = new ArrayList<>();
            for (int s = 0; s < core.segStart[v].length; s++) {
                mine.add(new Use(core.segStart[v][s], core.segEnd[v][s], core.segUsage[v][s]));
            }
            uses.add(mine);
        }
        IdentityHashMap<double[], Tables.Table> tableByMatrix = new IdentityHashMap<>();
        for (int e = 0; e < core.edgeCount; e++) {
            int a = core.edgeA[e];
            int b = core.edgeB[e];
            Tables.Table table = tableByMatrix.get(core.edgeCost[e]);
            // The same array may belong to another shape only if no one shares it.
            if (table == null || table.columns != core.domain[b]) {
                table = tables.of(core.edgeCost[e], core.domain[b]);
                tableByMatrix.put(core.edgeCost[e], table);
            }
            join(a, b, table);
        }
    }

    /** Returns the smaller core, or why there is no choice. */
    static Reducer.Result condense(Core core, boolean dominating, long usageLimit, Budget budget) {
        return budget.late() ? new Reducer.Result(core, "") : new Condenser(core, dominating, usageLimit, budget).run();
    }

    private Reducer.Result run() {
        for (int v = 0; v < core.size; v++) {
            push(v);
        }
        while (!budget.late()) {
            Integer v = work.poll();
            if (v == null && !chains.isEmpty()) {
                int chain = chains.poll();
                if (!gone[chain] && edges.get(chain).count() <= 2) {
                    eliminate(chain);
                }
                continue;
            }
            if (v == null) {
                v = hubs.poll();
            }
            if (v == null) {
                break;
            }
            queued[v] = false;
            if (!gone[v] && !visit(v)) {
                return new Reducer.Result(
                        null, "The forbidden pairs leave no choice, though no single edge forbids all.");
            }
        }
        return finish();
    }

    private void push(int v) {
        if (!queued[v] && !gone[v]) {
            queued[v] = true;
            (edges.get(v).count() < HUB ? work : hubs).add(v);
        }
    }

    /** Adds an edge; the table has a's values as rows. */
    private void join(int a, int b, Tables.Table table) {
        Tables.Table known = edges.get(a).get(b);
        Tables.Table sum = known == null ? table : tables.sum(known, table);
        edges.get(a).put(b, sum);
        edges.get(b).put(a, tables.transposed(sum));
    }

    private boolean visit(int v) {
        if (!dropValues(v)) {
            return false;
        }
        Links mine = edges.get(v);
        for (int i = 0; i < mine.count(); i++) {
            Tables.Table table = mine.table(i);
            if (table.isSeparable()) {
                int u = mine.end(i);
                unary[v] = tables.plus(unary[v], table.firstColumn());
                unary[u] = tables.plus(unary[u], table.firstRowRest());
                mine.remove(u);
                i--;
                edges.get(u).remove(v);
                push(u);
            }
        }
        if (unary[v].length == 1) {
            constant += unary[v][0];
            gone[v] = true;
            // Its use stays as a constant of the rows: see finish.
            return true;
        }
        if (mine.count() <= 1) {
            eliminate(v);
        } else if (mine.count() == 2) {
            chains.add(v);
        }
        return true;
    }

    private boolean dropValues(int v) {
        Links mine = edges.get(v);
        Dominance.Side[] sides = new Dominance.Side[mine.count()];
        for (int i = 0; i < sides.length; i++) {
            sides[i] = tables.side(mine.table(i));
        }
        List<Use> used = uses.get(v);
        long[][] usage = new long[used.size()][];
        for (int i = 0; i < usage.length; i++) {
            usage[i] = used.get(i).usage;
        }
        boolean[] out = dominance.gone(unary[v], usage, sides);
        int left = 0;
        for (boolean o : out) {
            left += o ? 0 : 1;
        }
        if (left == out.length) {
            return true;
        }
        if (left == 0) {
            return false;
        }
        int[] stay = new int[left];
        for (int k = 0, i = 0; k < out.length; k++) {
            if (!out[k]) {
                stay[i++] = k;
            }
        }
        kept[v] = tables.select(kept[v], stay);
        unary[v] = tables.select(unary[v], stay);
        uses.get(v).replaceAll(use -> new Use(use.start, use.end, tables.select(use.usage, stay)));
        for (int i = 0; i < mine.count(); i++) {
            Tables.Table fewer = tables.selectRows(mine.table(i), stay);
            mine.setTable(i, fewer);
            edges.get(mine.end(i)).put(v, tables.transposed(fewer));
            push(mine.end(i));
        }
        push(v);
        return true;
    }

    private void eliminate(int v) {
        int[] around = edges.get(v).ends();
        int first = around.length == 0 ? -1 : around[0];
        int second = around.length < 2 ? -1 : around[1];
        int rows = first < 0 ? 1 : unary[first].length;
        int columns = second < 0 ? 1 : unary[second].length;
        if ((long) rows * columns > MOST_ENTRIES) {
            return;
        }
        Tables.Table left = first < 0 ? null : edges.get(v).table(0);
        Tables.Table right = second < 0 ? null : edges.get(v).table(1);
        List<Object> look = new ArrayList<>();
        look.add(new Tables.Row(unary[v], 1));
        look.add(left == null ? -1 : left.number);
        look.add(right == null ? -1 : right.number);
        for (Use use : uses.get(v)) {
            look.add(new StrategyProblem.Row(use.usage));
        }
        Best best = bestByLook.computeIfAbsent(look, k -> best(v, left, right, rows, columns));
        double[] cost = best.cost;
        if (cost == null) {
            return;
        }
        steps.add(new Step(new End(v, kept[v]), end(first), end(second), best.best));
        gone[v] = true;
        int carrier = best.side == 0 ? first : second;
        for (int i = 0; i < uses.get(v).size(); i++) {
            Use use = uses.get(v).get(i);
            long[] moved = best.usage[i];
            if (carrier >= 0 && !isConstant(moved)) {
                addUse(carrier, new Use(use.start, use.end, moved));
            } else {
                // Constant: stays with the variable that went, see finish.
                uses.get(v).set(i, new Use(use.start, use.end, new long[] {moved[0]}));
                continue;
            }
            uses.get(v).set(i, new Use(use.start, use.end, new long[] {0}));
        }
        for (int u : around) {
            edges.get(u).remove(v);
        }
        if (first < 0) {
            constant += cost[0];
        } else if (second < 0) {
            unary[first] = tables.plus(unary[first], cost);
            push(first);
        } else {
            join(first, second, tables.of(cost, columns));
            push(first);
            push(second);
        }
    }

    private End end(int v) {
        return v < 0 ? End.NONE : new End(v, kept[v]);
    }

    private void addUse(int v, Use more) {
        List<Use> mine = uses.get(v);
        for (int i = 0; i < mine.size(); i++) {
            Use use = mine.get(i);
            if (use.start == more.start && use.end == more.end) {
                long[] sum = use.usage.clone();
                for (int k = 0; k < sum.length; k++) {
                    sum[k] += more.usage[k];
                }
                mine.set(i, new Use(use.start, use.end, sum));
                return;
            }
        }
        mine.add(more);
    }

    private static boolean isConstant(long[] usage) {
        for (long u : usage) {
            if (u != usage[0]) {
                return false;
            }
        }
        return true;
    }

    /** Finds the best value for each pair; it must also use least in every row. */
    private Best best(int v, Tables.@Nullable Table left, Tables.@Nullable Table right, int rows, int columns) {
        Best none = new Best(null, new int[0], 0, new long[0][]);
        int width = unary[v].length;
        List<Use> mine = uses.get(v);
        int[] best = new int[rows * columns];
        double[] cost = new double[rows * columns];
        double[] here = new double[width];
        for (int i = 0; i < rows; i++) {
            for (int j = 0; j < columns; j++) {
                int chosen = 0;
                for (int k = 0; k < width; k++) {
                    here[k] = unary[v][k]
                            + (left == null ? 0 : left.values[k * rows + i])
                            + (right == null ? 0 : right.values[k * columns + j]);
                    if (here[k] < here[chosen]
                            || (here[k] == here[chosen] && k != chosen && usesLess(mine, k, chosen))) {
                        chosen = k;
                    }
                }
                best[i * columns + j] = chosen;
                cost[i * columns + j] = here[chosen];
                if (here[chosen] == Double.POSITIVE_INFINITY) {
                    continue;
                }
                for (int k = 0; k < width; k++) {
                    if (here[k] != Double.POSITIVE_INFINITY && k != chosen && !usesNoMore(mine, chosen, k)) {
                        return none;
                    }
                }
            }
        }
        for (int side = 0; side < 2; side++) {
            long[][] usage = usageBy(side, mine, best, cost, rows, columns);
            if (usage != null) {
                return new Best(cost, best, side, usage);
            }
        }
        return none;
    }

    private static boolean usesNoMore(List<Use> uses, int value, int other) {
        for (Use use : uses) {
            if (use.usage[value] > use.usage[other]) {
                return false;
            }
        }
        return true;
    }

    private static boolean usesLess(List<Use> uses, int value, int other) {
        return usesNoMore(uses, value, other) && !usesNoMore(uses, other, value);
    }

    /** What the best values use as a function of one neighbour's value, null if it depends on the other one too. */
    private static long @Nullable [][] usageBy(
            int side, List<Use> uses, int[] best, double[] cost, int rows, int columns) {
        long[][] usage = new long[uses.size()][side == 0 ? rows : columns];
        for (int u = 0; u < usage.length; u++) {
            Arrays.fill(usage[u], -1);
            for (int i = 0; i < rows; i++) {
                for (int j = 0; j < columns; j++) {
                    int at = side == 0 ? i : j;
                    long now = uses.get(u).usage[best[i * columns + j]];
                    if (cost[i * columns + j] == Double.POSITIVE_INFINITY) {
                        continue;
                    }
                    if (usage[u][at] >= 0 && usage[u][at] != now) {
                        return null;
                    }
                    usage[u][at] = now;
                }
            }
            for (int i = 0; i < usage[u].length; i++) {
                // A value that is forbidden with all others will go.
                usage[u][i] = Math.max(0, usage[u][i]);
            }
        }
        return usage;
    }

    private Reducer.Result finish() {
        int[] number = new int[core.size];
        int size = 0;
        for (int v = 0; v < core.size; v++) {
            number[v] = gone[v] ? -1 : size++;
        }
        UsageRows rows = rows(number, size);
        if (rows.brokenRow >= 0) {
            return new Reducer.Result(
                    null,
                    "Every choice without forbidden pairs is above the usage limit " + usageLimit + " in the interval "
                            + rows.rowTime[rows.brokenRow] + ": it uses at least "
                            + (usageLimit - rows.limit[rows.brokenRow]) + " there, too much by "
                            + -rows.limit[rows.brokenRow] + ".");
        }
        double[][] newUnary = new double[size][];
        int[][] newKept = new int[size][];
        int[] old = new int[size];
        List<int[]> ends = new ArrayList<>();
        List<double[]> costs = new ArrayList<>();
        for (int v = 0; v < core.size; v++) {
            if (gone[v]) {
                continue;
            }
            newUnary[number[v]] = unary[v];
            newKept[number[v]] = kept[v];
            old[number[v]] = v;
            Links mine = edges.get(v);
            for (int i = 0; i < mine.count(); i++) {
                if (mine.end(i) > v) {
                    ends.add(new int[] {number[v], number[mine.end(i)]});
                    costs.add(mine.table(i).values);
                }
            }
        }
        int[] start = new int[core.size];
        for (int v = 0; v < core.size; v++) {
            start[v] = kept[v][0];
        }
        List<Step> backwards = new ArrayList<>(steps);
        Collections.reverse(backwards);
        Expansion inner = core.expansion();
        Expansion expansion = x -> {
            int[] full = start.clone();
            for (int v = 0; v < x.length; v++) {
                full[old[v]] = newKept[v][x[v]];
            }
            for (Step step : backwards) {
                step.decide(full);
            }
            return inner.strategies(full);
        };
        Core small = new Core(
                constant,
                newUnary,
                ends.stream().mapToInt(e -> e[0]).toArray(),
                ends.stream().mapToInt(e -> e[1]).toArray(),
                costs.toArray(new double[0][]),
                rows,
                expansion);
        return new Reducer.Result(small, "");
    }

    /** Takes the least use off the limits and leaves out the rows that cannot overflow any more. */
    private UsageRows rows(int[] number, int size) {
        long[] least = new long[core.rows + 1];
        long[] most = new long[core.rows + 1];
        for (int v = 0; v < core.size; v++) {
            for (Use use : uses.get(v)) {
                long low = Arrays.stream(use.usage).min().orElse(0);
                long high = Arrays.stream(use.usage).max().orElse(0);
                least[use.start] += low;
                least[use.end] -= low;
                most[use.start] += high;
                most[use.end] -= high;
            }
        }
        int[] newRow = new int[core.rows + 1];
        long[] limit = new long[core.rows];
        TimeSpan[] time = new TimeSpan[core.rows];
        int count = 0;
        int broken = -1;
        long low = 0;
        long high = 0;
        for (int r = 0; r < core.rows; r++) {
            low += least[r];
            high += most[r];
            newRow[r] = count;
            if (high > core.limit[r]) {
                limit[count] = core.limit[r] - low;
                if (limit[count] < 0 && (broken < 0 || limit[count] < limit[broken])) {
                    broken = count;
                }
                time[count++] = core.rowTime[r];
            }
        }
        newRow[core.rows] = count;
        int[][] segStart = new int[size][];
        int[][] segEnd = new int[size][];
        long[][][] segUsage = new long[size][][];
        for (int v = 0; v < core.size; v++) {
            if (number[v] < 0) {
                continue;
            }
            List<Use> mine = new ArrayList<>();
            for (Use use : uses.get(v)) {
                int from = newRow[use.start];
                int to = newRow[use.end];
                if (from < to && !isConstant(use.usage)) {
                    long bottom = Arrays.stream(use.usage).min().orElse(0);
                    mine.add(new Use(
                            from,
                            to,
                            Arrays.stream(use.usage).map(u -> u - bottom).toArray()));
                }
            }
            segStart[number[v]] = mine.stream().mapToInt(Use::start).toArray();
            segEnd[number[v]] = mine.stream().mapToInt(Use::end).toArray();
            segUsage[number[v]] = mine.stream().map(Use::usage).toArray(long[][]::new);
        }
        return new UsageRows(
                Arrays.copyOf(limit, count), Arrays.copyOf(time, count), segStart, segEnd, segUsage, broken);
    }
}
