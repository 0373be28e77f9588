package dev.drover.solver;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.IdentityHashMap;
import java.util.List;
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
    private final Tables tables = new Tables();

    private final Dominance dominance;
    private final Tables.Costs[] unary;
    private final Tables.Values[] kept;
    private final Links[] edges;
    private final Use[][] uses;
    private final IntQueue work = new IntQueue();
    /** Variables of two neighbours, which wait until no leaf is left: a leaf costs a row for each value, a chain a table. */
    private final IntQueue chains = new IntQueue();

    /** Variables of many edges, which wait until all around them is done: a look at one costs as much as at a hundred others. */
    private final IntQueue hubs = new IntQueue();

    private final boolean[] queued;
    private final boolean[] gone;
    private final List<Step> steps = new ArrayList<>();
    private final Memo<Tables.Values> staying = new Memo<>();
    private final Memo<Best> bestOnes = new Memo<>();
    private double constant;

    /** What a variable uses in the rows {@code start .. end - 1}, by its present values. */
    private static final class Use {
        private static final Use[] NONE = {};

        private final int start;
        private final int end;
        private final Tables.Usage usage;

        Use(int start, int end, Tables.Usage usage) {
            this.start = start;
            this.end = end;
            this.usage = usage;
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
        private static final Best NONE = new Best(new double[0], new int[0], 0, List.of());

        /** Least costs, none if the variable cannot go. */
        private final double[] cost;
        /** Positions of the best values. */
        private final int[] best;
        /** Neighbour on which the use depends: 0 or 1. */
        private final int side;
        /** Per use, by the value of that neighbour. */
        private final List<Tables.Usage> usage;

        private Tables.@Nullable Costs row;
        private Tables.@Nullable Table table;

        Best(double[] cost, int[] best, int side, List<Tables.Usage> usage) {
            this.cost = cost;
            this.best = best;
            this.side = side;
            this.usage = usage;
        }

        private Tables.Costs row(Tables tables) {
            Tables.Costs known = row;
            if (known == null) {
                known = tables.costs(cost);
                row = known;
            }
            return known;
        }

        private Tables.Table table(Tables tables, int columns) {
            Tables.Table known = table;
            if (known == null) {
                known = tables.of(cost, columns);
                table = known;
            }
            return known;
        }
    }

    private Condenser(Core core, boolean dominating, Budget budget) {
        this.core = core;
        this.budget = budget;
        this.dominance = new Dominance(dominating);
        this.constant = core.constant;
        this.unary = new Tables.Costs[core.size];
        this.kept = new Tables.Values[core.size];
        this.edges = new Links[core.size];
        this.uses = new Use[core.size][];
        this.queued = new boolean[core.size];
        this.gone = new boolean[core.size];
        for (int v = 0; v < core.size; v++) {
            unary[v] = tables.costs(core.unary[v]);
            kept[v] = tables.upTo(core.domain[v]);
            edges[v] = new Links(core.incident[v].length);
            int count = core.segStart[v].length;
            uses[v] = count == 0 ? Use.NONE : new Use[count];
            for (int s = 0; s < count; s++) {
                uses[v][s] = new Use(core.segStart[v][s], core.segEnd[v][s], tables.usage(core.segUsage[v][s]));
            }
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
    static Reducer.Result condense(Core core, boolean dominating, Budget budget) {
        return budget.late() ? new Reducer.Result(core, "") : new Condenser(core, dominating, budget).run();
    }

    private Reducer.Result run() {
        for (int v = 0; v < core.size; v++) {
            push(v);
        }
        while (!budget.late()) {
            if (work.isEmpty() && !chains.isEmpty()) {
                int chain = chains.poll();
                if (!gone[chain] && edges[chain].count() <= 2) {
                    eliminate(chain);
                }
                continue;
            }
            if (work.isEmpty() && hubs.isEmpty()) {
                break;
            }
            int v = work.isEmpty() ? hubs.poll() : work.poll();
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
            (edges[v].count() < HUB ? work : hubs).add(v);
        }
    }

    /** Adds an edge; the table has a's values as rows. */
    private void join(int a, int b, Tables.Table table) {
        Tables.Table known = edges[a].get(b);
        Tables.Table sum = known == null ? table : tables.sum(known, table);
        edges[a].put(b, sum);
        edges[b].put(a, tables.transposed(sum));
    }

    private boolean visit(int v) {
        if (!dropValues(v)) {
            return false;
        }
        Links mine = edges[v];
        for (int i = 0; i < mine.count(); i++) {
            Tables.Table table = mine.table(i);
            if (table.isSeparable()) {
                int u = mine.end(i);
                unary[v] = tables.sum(unary[v], tables.leastColumn(table));
                unary[u] = tables.sum(unary[u], tables.firstRowRest(table));
                mine.remove(u);
                i--;
                edges[u].remove(v);
                push(u);
            }
        }
        if (unary[v].values.length == 1) {
            constant += unary[v].values[0];
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
        Links mine = edges[v];
        staying.begin(unary[v].number, uses[v].length);
        for (Use use : uses[v]) {
            staying.add(use.usage.number);
        }
        for (int i = 0; i < mine.count(); i++) {
            staying.add(mine.table(i).number);
        }
        staying.sortLast(mine.count());
        Tables.Values stay = staying.get();
        if (stay == null) {
            stay = staying(v);
            staying.put(stay);
        }
        if (stay.values.length == unary[v].values.length) {
            return true;
        }
        if (stay.values.length == 0) {
            return false;
        }
        kept[v] = tables.select(kept[v], stay);
        unary[v] = tables.select(unary[v], stay);
        for (int i = 0; i < uses[v].length; i++) {
            Use use = uses[v][i];
            uses[v][i] = new Use(use.start, use.end, tables.select(use.usage, stay));
        }
        for (int i = 0; i < mine.count(); i++) {
            Tables.Table fewer = tables.selectRows(mine.table(i), stay);
            mine.setTable(i, fewer);
            edges[mine.end(i)].put(v, tables.transposed(fewer));
            push(mine.end(i));
        }
        push(v);
        return true;
    }

    /** The values of a variable that no other one beats. */
    private Tables.Values staying(int v) {
        Links mine = edges[v];
        Dominance.Side[] sides = new Dominance.Side[mine.count()];
        for (int i = 0; i < sides.length; i++) {
            sides[i] = tables.side(mine.table(i));
        }
        long[][] usage = new long[uses[v].length][];
        for (int i = 0; i < usage.length; i++) {
            usage[i] = uses[v][i].usage.values;
        }
        boolean[] out = dominance.test(unary[v].values, usage, sides);
        int[] stay = new int[out.length];
        int left = 0;
        for (int k = 0; k < out.length; k++) {
            if (!out[k]) {
                stay[left++] = k;
            }
        }
        return tables.values(Arrays.copyOf(stay, left));
    }

    private void eliminate(int v) {
        Links mine = edges[v];
        int first = mine.count() == 0 ? -1 : mine.end(0);
        int second = mine.count() < 2 ? -1 : mine.end(1);
        int rows = first < 0 ? 1 : unary[first].values.length;
        int columns = second < 0 ? 1 : unary[second].values.length;
        if ((long) rows * columns > MOST_ENTRIES) {
            return;
        }
        Tables.Table left = first < 0 ? null : mine.table(0);
        Tables.Table right = second < 0 ? null : mine.table(1);
        bestOnes.begin(unary[v].number, left == null ? -1 : left.number);
        bestOnes.add(right == null ? -1 : right.number);
        for (Use use : uses[v]) {
            bestOnes.add(use.usage.number);
        }
        Best best = bestOnes.get();
        if (best == null) {
            best = best(v, left, right, rows, columns);
            bestOnes.put(best);
        }
        if (best == Best.NONE) {
            return;
        }
        steps.add(new Step(end(v), end(first), end(second), best.best));
        gone[v] = true;
        moveUses(v, best.side == 0 ? first : second, best.usage);
        if (first >= 0) {
            edges[first].remove(v);
        }
        if (second >= 0) {
            edges[second].remove(v);
        }
        if (first < 0) {
            constant += best.cost[0];
        } else if (second < 0) {
            unary[first] = tables.sum(unary[first], best.row(tables));
            push(first);
        } else {
            join(first, second, best.table(tables, columns));
            push(first);
            push(second);
        }
    }

    /** Moves what a variable that goes uses to the neighbour on which it depends. */
    private void moveUses(int v, int carrier, List<Tables.Usage> moved) {
        Use[] before = uses[v];
        if (before.length == 0) {
            return;
        }
        List<Use> stay = new ArrayList<>();
        for (int i = 0; i < before.length; i++) {
            Use use = new Use(before[i].start, before[i].end, moved.get(i));
            if (carrier >= 0 && !use.usage.isConstant()) {
                addUse(carrier, use);
            } else {
                // Constant: stays with the variable that went, see finish.
                stay.add(use);
            }
        }
        uses[v] = stay.toArray(Use.NONE);
    }

    private End end(int v) {
        return v < 0 ? End.NONE : new End(v, kept[v].values);
    }

    private void addUse(int v, Use more) {
        Use[] mine = uses[v];
        for (int i = 0; i < mine.length; i++) {
            Use use = mine[i];
            if (use.start == more.start && use.end == more.end) {
                mine[i] = new Use(use.start, use.end, tables.sum(use.usage, more.usage));
                return;
            }
        }
        Use[] longer = Arrays.copyOf(mine, mine.length + 1);
        longer[mine.length] = more;
        uses[v] = longer;
    }

    /** Finds the best value for each pair; it must also use least in every row. */
    private Best best(int v, Tables.@Nullable Table left, Tables.@Nullable Table right, int rows, int columns) {
        double[] own = unary[v].values;
        Use[] mine = uses[v];
        int[] best = new int[rows * columns];
        double[] cost = new double[rows * columns];
        double[] noCosts = new double[columns];
        for (int i = 0; i < rows; i++) {
            int at = i * columns;
            Arrays.fill(cost, at, at + columns, Double.POSITIVE_INFINITY);
            for (int k = 0; k < own.length; k++) {
                double here = own[k] + (left == null ? 0 : left.values[k * rows + i]);
                double[] more = right == null ? noCosts : right.values;
                int from = right == null ? 0 : k * columns;
                for (int j = 0; j < columns; j++) {
                    double now = here + more[from + j];
                    if (now < cost[at + j]
                            || (now == cost[at + j] && k != best[at + j] && usesLess(mine, k, best[at + j]))) {
                        cost[at + j] = now;
                        best[at + j] = k;
                    }
                }
            }
        }
        if (mine.length == 0) {
            return new Best(cost, best, 0, List.of());
        }
        for (int i = 0; i < rows; i++) {
            for (int j = 0; j < columns; j++) {
                int chosen = best[i * columns + j];
                for (int k = 0; k < own.length && cost[i * columns + j] != Double.POSITIVE_INFINITY; k++) {
                    double here = own[k]
                            + (left == null ? 0 : left.values[k * rows + i])
                            + (right == null ? 0 : right.values[k * columns + j]);
                    if (here != Double.POSITIVE_INFINITY && k != chosen && !usesNoMore(mine, chosen, k)) {
                        return Best.NONE;
                    }
                }
            }
        }
        for (int side = 0; side < 2; side++) {
            List<Tables.Usage> usage = usageBy(side, mine, best, cost, rows, columns);
            if (!usage.isEmpty()) {
                return new Best(cost, best, side, usage);
            }
        }
        return Best.NONE;
    }

    private static boolean usesNoMore(Use[] uses, int value, int other) {
        for (Use use : uses) {
            if (use.usage.values[value] > use.usage.values[other]) {
                return false;
            }
        }
        return true;
    }

    private static boolean usesLess(Use[] uses, int value, int other) {
        return uses.length > 0 && usesNoMore(uses, value, other) && !usesNoMore(uses, other, value);
    }

    /** What the best values use as a function of one neighbour's value, empty if it depends on the other one too. */
    private List<Tables.Usage> usageBy(int side, Use[] uses, int[] best, double[] cost, int rows, int columns) {
        List<Tables.Usage> all = new ArrayList<>();
        for (Use use : uses) {
            long[] usage = new long[side == 0 ? rows : columns];
            Arrays.fill(usage, -1);
            for (int i = 0; i < rows; i++) {
                for (int j = 0; j < columns; j++) {
                    int at = side == 0 ? i : j;
                    long now = use.usage.values[best[i * columns + j]];
                    if (cost[i * columns + j] == Double.POSITIVE_INFINITY) {
                        continue;
                    }
                    if (usage[at] >= 0 && usage[at] != now) {
                        return List.of();
                    }
                    usage[at] = now;
                }
            }
            for (int i = 0; i < usage.length; i++) {
                // A value that is forbidden with all others will go.
                usage[i] = Math.max(0, usage[i]);
            }
            all.add(tables.usage(usage));
        }
        return all;
    }

    private Reducer.Result finish() {
        int[] number = new int[core.size];
        int size = 0;
        for (int v = 0; v < core.size; v++) {
            number[v] = gone[v] ? -1 : size++;
        }
        UsageRows rows = rows(number, size);
        if (rows.brokenRow >= 0) {
            return new Reducer.Result(null, Reducer.ABOVE_LIMIT);
        }
        double[][] newUnary = new double[size][];
        int[][] newKept = new int[size][];
        int[] old = new int[size];
        int edgeCount = 0;
        for (int v = 0; v < core.size; v++) {
            edgeCount += gone[v] ? 0 : edges[v].count();
        }
        edgeCount /= 2;
        int[] ends = new int[edgeCount];
        int[] otherEnds = new int[edgeCount];
        double[][] costs = new double[edgeCount][];
        int e = 0;
        for (int v = 0; v < core.size; v++) {
            if (gone[v]) {
                continue;
            }
            newUnary[number[v]] = unary[v].values;
            newKept[number[v]] = kept[v].values;
            old[number[v]] = v;
            Links mine = edges[v];
            for (int i = 0; i < mine.count(); i++) {
                if (mine.end(i) > v) {
                    ends[e] = number[v];
                    otherEnds[e] = number[mine.end(i)];
                    costs[e++] = mine.table(i).values;
                }
            }
        }
        int[] start = new int[core.size];
        for (int v = 0; v < core.size; v++) {
            start[v] = kept[v].values[0];
        }
        Expansion inner = core.expansion();
        Expansion expansion = x -> {
            int[] full = start.clone();
            for (int v = 0; v < x.length; v++) {
                full[old[v]] = newKept[v][x[v]];
            }
            for (int step = steps.size() - 1; step >= 0; step--) {
                steps.get(step).decide(full);
            }
            return inner.strategies(full);
        };
        Core small = new Core(constant, newUnary, ends, otherEnds, costs, rows, expansion);
        return new Reducer.Result(small, "");
    }

    /** Takes the least use off the limits and leaves out the rows that cannot overflow any more. */
    private UsageRows rows(int[] number, int size) {
        long[] least = new long[core.rows + 1];
        long[] most = new long[core.rows + 1];
        for (int v = 0; v < core.size; v++) {
            for (Use use : uses[v]) {
                least[use.start] += use.usage.least();
                least[use.end] -= use.usage.least();
                most[use.start] += use.usage.most();
                most[use.end] -= use.usage.most();
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
            int[] from = new int[uses[v].length];
            int[] to = new int[from.length];
            long[][] usage = new long[from.length][];
            int left = 0;
            for (Use use : uses[v]) {
                from[left] = newRow[use.start];
                to[left] = newRow[use.end];
                usage[left] = use.usage.aboveLeast();
                left += from[left] < to[left] && !use.usage.isConstant() ? 1 : 0;
            }
            segStart[number[v]] = Arrays.copyOf(from, left);
            segEnd[number[v]] = Arrays.copyOf(to, left);
            segUsage[number[v]] = Arrays.copyOf(usage, left);
        }
        return new UsageRows(
                Arrays.copyOf(limit, count), Arrays.copyOf(time, count), segStart, segEnd, segUsage, broken);
    }
}
