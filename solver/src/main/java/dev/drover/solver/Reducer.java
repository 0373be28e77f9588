package dev.drover.solver;

import dev.drover.solver.SolveOptions.Technique;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Brings a problem to its {@link Core} without losing an optimum.
 *
 * <pre>
 *   forbidden    a strategy without allowed partner on some edge goes, until nothing changes
 *   merge        i == j: an edge that allows exactly one partner for each strategy joins its nodes to one variable
 *   fixed        a variable with one value moves into its neighbours' costs
 *   parallel     edges between the same two variables become one
 *   separable    edge(a, b) = f(a) + g(b) moves into the variables' costs
 *   dominated    a value that costs no less and uses no less than another, whatever the neighbours do, goes
 * </pre>
 *
 * On the contest's instances merging takes 30,000 nodes to 300 (A) or 6,500 (S) variables.
 */
final class Reducer {
    /** The contradiction of a problem whose usage limit takes part in it. */
    static final String ABOVE_LIMIT = "Every choice without forbidden pairs is above the usage limit at some time.";

    private final StrategyProblem problem;
    private final boolean merging;
    private final boolean dominating;
    private final boolean condensing;
    private final int n;
    private final boolean[][] allowed;
    private final int[][] edgesByNode;
    /** Whether an edge has a forbidden pair. */
    private final boolean[] forbids;

    private boolean anyForbids;
    private final Budget budget;
    private String contradiction = "";

    private int[] variableByNode = new int[0];
    private int[][] strategyByNodeAndValue = new int[0][];

    private Reducer(StrategyProblem problem, Set<Technique> without, Budget budget) {
        this.budget = budget;
        this.problem = problem;
        this.merging = !without.contains(Technique.MERGE);
        this.condensing = !without.contains(Technique.CONDENSE);
        this.dominating = !without.contains(Technique.DOMINANCE);
        this.n = problem.nodeCount();
        this.allowed = new boolean[n][];
        int[] degree = new int[n];
        for (int e = 0; e < problem.edgeCount(); e++) {
            degree[problem.edgeFrom(e)]++;
            degree[problem.edgeTo(e)]++;
        }
        this.forbids = new boolean[problem.edgeCount()];
        this.edgesByNode = new int[n][];
        for (int i = 0; i < n; i++) {
            edgesByNode[i] = new int[degree[i]];
        }
        for (int e = 0; e < problem.edgeCount(); e++) {
            edgesByNode[problem.edgeFrom(e)][--degree[problem.edgeFrom(e)]] = e;
            edgesByNode[problem.edgeTo(e)][--degree[problem.edgeTo(e)]] = e;
        }
    }

    /**
     * What is left of a problem.
     *
     * @param core the reduced problem, null if there is a contradiction
     * @param contradiction why no choice is feasible, if there is a usage limit only in short; empty if there is a core
     */
    record Result(@Nullable Core core, String contradiction) {}

    static Result reduce(StrategyProblem problem, Set<Technique> without) {
        return reduce(problem, without, Budget.endless());
    }

    /** Reduces; throws {@link Budget.Late} if the time ends before there is a core. */
    static Result reduce(StrategyProblem problem, Set<Technique> without, Budget budget) {
        Result reduced = uncondensed(problem, without, budget);
        Core core = reduced.core();
        if (core == null || without.contains(Technique.CONDENSE)) {
            return reduced;
        }
        return Condenser.condense(core, !without.contains(Technique.DOMINANCE), budget);
    }

    /** What the {@link Condenser} gets. */
    static Result uncondensed(StrategyProblem problem, Set<Technique> without, Budget budget) {
        return new Reducer(problem, without, budget).run();
    }

    private Result run() {
        for (int i = 0; i < n; i++) {
            if (!allow(i)) {
                boolean anyCost = false;
                for (long cost : problem.costs(i)) {
                    anyCost |= cost < StrategyProblem.FORBIDDEN;
                }
                return new Result(null, anyCost ? ABOVE_LIMIT : "Node " + i + " forbids each of its strategies.");
            }
        }
        boolean[] forbidsByMatrix = new boolean[problem.matrixCount()];
        for (int number = 0; number < forbidsByMatrix.length; number++) {
            forbidsByMatrix[number] = hasForbidden(problem.matrix(number));
            anyForbids |= forbidsByMatrix[number];
        }
        for (int e = 0; e < forbids.length; e++) {
            forbids[e] = forbidsByMatrix[problem.matrixNumber(e)];
        }
        boolean[] all = new boolean[n];
        Arrays.fill(all, true);
        for (int round = 0; ; round++) {
            if (!propagate(all)) {
                return new Result(null, contradiction);
            }
            merge();
            if (!contradiction.isEmpty()) {
                return new Result(null, contradiction);
            }
            Draft draft = new Draft();
            if (!contradiction.isEmpty()) {
                return new Result(null, contradiction);
            }
            // Without forbidden pairs nothing can join later, and the condenser drops values as well.
            boolean enough = condensing && !anyForbids;
            List<int[]> removed = enough ? List.of() : draft.removable();
            if (!contradiction.isEmpty()) {
                return new Result(null, contradiction);
            }
            if (removed.isEmpty() || round == 8 || budget.late()) {
                return draft.finish();
            }
            Arrays.fill(all, false);
            boolean[][] gone = new boolean[draft.count][];
            for (int[] r : removed) {
                if (gone[r[0]] == null) {
                    gone[r[0]] = new boolean[draft.domain[r[0]]];
                }
                gone[r[0]][r[1]] = true;
            }
            for (int i = 0; i < n; i++) {
                int v = variableByNode[i];
                if (gone[v] != null) {
                    all[i] = true;
                    for (int k = 0; k < gone[v].length; k++) {
                        if (gone[v][k]) {
                            allowed[i][strategyByNodeAndValue[i][k]] = false;
                        }
                    }
                }
            }
        }
    }

    /** Allows the strategies of a node that nothing forbids; false if there is none. */
    private boolean allow(int node) {
        long[] costs = problem.costs(node);
        long[] usages = problem.usages(node);
        long limit = problem.intervalStart(node) < problem.intervalEnd(node)
                ? problem.usageLimit()
                : StrategyProblem.UNLIMITED;
        boolean[] mine = new boolean[costs.length];
        boolean any = false;
        for (int k = 0; k < mine.length; k++) {
            mine[k] = costs[k] < StrategyProblem.FORBIDDEN && usages[k] <= limit;
            any |= mine[k];
        }
        allowed[node] = mine;
        return any;
    }

    private static boolean hasForbidden(long[] matrix) {
        for (long cost : matrix) {
            if (cost >= StrategyProblem.FORBIDDEN) {
                return true;
            }
        }
        return false;
    }

    /** Removes strategies without partner; false if a node has none left. */
    private boolean propagate(boolean[] changed) {
        if (!anyForbids) {
            return true;
        }
        ArrayDeque<Integer> work = new ArrayDeque<>();
        boolean[] queued = changed.clone();
        for (int i = 0; i < n; i++) {
            if (queued[i]) {
                work.add(i);
            }
        }
        while (!work.isEmpty()) {
            budget.check();
            int i = work.poll();
            queued[i] = false;
            for (int e : edgesByNode[i]) {
                if (!forbids[e]) {
                    continue;
                }
                boolean fromHere = problem.edgeFrom(e) == i;
                int j = fromHere ? problem.edgeTo(e) : problem.edgeFrom(e);
                boolean less = false;
                boolean any = false;
                for (int l = 0; l < allowed[j].length; l++) {
                    if (allowed[j][l]) {
                        boolean partner = false;
                        for (int k = 0; k < allowed[i].length && !partner; k++) {
                            partner = allowed[i][k]
                                    && (fromHere ? problem.edgeCost(e, k, l) : problem.edgeCost(e, l, k))
                                            < StrategyProblem.FORBIDDEN;
                        }
                        if (partner) {
                            any = true;
                        } else {
                            allowed[j][l] = false;
                            less = true;
                        }
                    }
                }
                if (!any) {
                    contradiction = "Edge " + e + " between nodes " + problem.edgeFrom(e) + " and " + problem.edgeTo(e)
                            + " forbids every pair of strategies that the rest of the problem leaves to them.";
                    return false;
                }
                if (less && !queued[j]) {
                    queued[j] = true;
                    work.add(j);
                }
            }
        }
        return true;
    }

    /** Partner of each allowed strategy of {@code i} over the edge, null if some has several. */
    private int @Nullable [] bijection(int e, int i) {
        boolean fromHere = problem.edgeFrom(e) == i;
        int j = fromHere ? problem.edgeTo(e) : problem.edgeFrom(e);
        int[] partner = new int[allowed[i].length];
        boolean[] taken = new boolean[allowed[j].length];
        for (int k = 0; k < partner.length; k++) {
            partner[k] = -1;
            if (allowed[i][k]) {
                for (int l = 0; l < allowed[j].length; l++) {
                    if (allowed[j][l]
                            && (fromHere ? problem.edgeCost(e, k, l) : problem.edgeCost(e, l, k))
                                    < StrategyProblem.FORBIDDEN) {
                        if (partner[k] >= 0 || taken[l]) {
                            return null;
                        }
                        partner[k] = l;
                        taken[l] = true;
                    }
                }
            }
        }
        return partner;
    }

    /** Groups nodes along bijections; the values of a group are the strategies of its first node. */
    private void merge() {
        variableByNode = new int[n];
        Arrays.fill(variableByNode, -1);
        strategyByNodeAndValue = new int[n][];
        int count = 0;
        for (int root = 0; root < n; root++) {
            if (variableByNode[root] < 0) {
                budget.check();
                strategyByNodeAndValue[root] = allowedOf(root);
                variableByNode[root] = count;
                if (merging && anyForbids) {
                    mergeFrom(root, count);
                }
                count++;
            }
        }
    }

    private int[] allowedOf(int node) {
        boolean[] mine = allowed[node];
        int[] values = new int[mine.length];
        int filled = 0;
        for (int k = 0; k < mine.length; k++) {
            if (mine[k]) {
                values[filled++] = k;
            }
        }
        return filled == values.length ? values : Arrays.copyOf(values, filled);
    }

    /** Joins to a variable all that hangs on its first node by bijections. */
    private void mergeFrom(int root, int variable) {
        ArrayDeque<Integer> work = new ArrayDeque<>();
        work.add(root);
        while (!work.isEmpty()) {
            int i = work.poll();
            for (int e : edgesByNode[i]) {
                if (!forbids[e]) {
                    continue;
                }
                int j = problem.edgeFrom(e) == i ? problem.edgeTo(e) : problem.edgeFrom(e);
                if (variableByNode[j] >= 0) {
                    continue;
                }
                int[] partner = bijection(e, i);
                if (partner == null) {
                    continue;
                }
                int[] here = strategyByNodeAndValue[i];
                int[] there = new int[here.length];
                for (int v = 0; v < here.length; v++) {
                    there[v] = partner[here[v]];
                }
                strategyByNodeAndValue[j] = there;
                variableByNode[j] = variable;
                work.add(j);
            }
        }
    }

    /** The variables and edges of one round. */
    private final class Draft {
        private final int count;
        private final int[] domain;
        private final double[][] unary;
        /** The edges in order of their ends, a below b. */
        private int edgeCount;

        private int[] edgeA = new int[0];
        private int[] edgeB = new int[0];
        private Matrix[] matrix = new Matrix[0];
        private final UsageRows usage;

        /** A matrix of costs and its number. */
        private static final class Matrix {
            private final double[] costs;
            private final int number;
            private final int width;
            private final boolean separable;
            private List<Dominance.Side> sides = List.of();

            Matrix(double[] costs, int number, int width) {
                this.costs = costs;
                this.number = number;
                this.width = width;
                this.separable = Tables.isSeparable(costs, width);
            }

            /** The two ends of an edge, first that of the rows. */
            private List<Dominance.Side> sides() {
                if (sides.isEmpty()) {
                    double[] transposed = Core.transposed(costs, costs.length / width, width);
                    sides = List.of(
                            Dominance.Side.ofRows(costs, transposed, number, width),
                            Dominance.Side.ofColumns(costs, transposed, number, width));
                }
                return sides;
            }
        }

        Draft() {
            int variables = 0;
            for (int v : variableByNode) {
                variables = Math.max(variables, v + 1);
            }
            count = variables;
            domain = new int[count];
            unary = new double[count][];
            for (int i = 0; i < n; i++) {
                addCosts(variableByNode[i], strategyByNodeAndValue[i], problem.costs(i));
            }
            addEdges();
            foldSeparable();
            List<UsageRows.Use> uses = new ArrayList<>();
            if (problem.usageLimit() != StrategyProblem.UNLIMITED) {
                for (int i = 0; i < n; i++) {
                    if (problem.intervalStart(i) < problem.intervalEnd(i)) {
                        uses.add(new UsageRows.Use(
                                variableByNode[i],
                                problem.intervalStart(i),
                                problem.intervalEnd(i),
                                selected(problem.usages(i), strategyByNodeAndValue[i])));
                    }
                }
            }
            usage = UsageRows.of(domain, uses, problem.usageLimit(), budget);
            if (usage.brokenRow >= 0) {
                contradiction = ABOVE_LIMIT;
            }
        }

        private void addCosts(int v, int[] strategies, long[] costs) {
            double[] sum = unary[v];
            if (sum == null) {
                sum = new double[strategies.length];
                domain[v] = sum.length;
                unary[v] = sum;
            }
            for (int k = 0; k < sum.length; k++) {
                sum[k] += costs[strategies[k]];
            }
        }

        private static long[] selected(long[] from, int[] at) {
            long[] out = new long[at.length];
            for (int k = 0; k < out.length; k++) {
                out[k] = from[at[k]];
            }
            return out;
        }

        private void addEdges() {
            int[] valuesNumber = new int[n];
            Memo<Integer> numberByValues = new Memo<>();
            int different = 0;
            for (int i = 0; i < n; i++) {
                int[] values = strategyByNodeAndValue[i];
                numberByValues.begin(values.length, values[0]);
                for (int k = 1; k < values.length; k++) {
                    numberByValues.add(values[k]);
                }
                Integer known = numberByValues.get();
                if (known == null) {
                    known = different++;
                    numberByValues.put(known);
                }
                valuesNumber[i] = known;
            }
            // The edges by their lower end, then by the other one, then by number.
            int[] at = new int[count + 1];
            boolean[] apart = new boolean[problem.edgeCount()];
            for (int e = 0; e < apart.length; e++) {
                int a = variableByNode[problem.edgeFrom(e)];
                int b = variableByNode[problem.edgeTo(e)];
                apart[e] = a != b && domain[a] > 1 && domain[b] > 1;
                if (apart[e]) {
                    at[Math.min(a, b) + 1]++;
                } else {
                    fold(e, a, b);
                }
            }
            for (int v = 0; v < count; v++) {
                at[v + 1] += at[v];
            }
            long[] keys = new long[at[count]];
            int[] filled = Arrays.copyOf(at, count);
            for (int e = 0; e < apart.length; e++) {
                if (apart[e]) {
                    int a = variableByNode[problem.edgeFrom(e)];
                    int b = variableByNode[problem.edgeTo(e)];
                    keys[filled[Math.min(a, b)]++] = ((long) Math.max(a, b) << 32) | e;
                }
            }
            edgeA = new int[keys.length];
            edgeB = new int[keys.length];
            matrix = new Matrix[keys.length];
            join(at, keys, valuesNumber);
        }

        /** Makes one matrix of the parallel edges of each pair of variables; equal ones are made once. */
        private void join(int[] at, long[] keys, int[] valuesNumber) {
            Memo<Matrix> shared = new Memo<>();
            int different = 0;
            for (int a = 0; a < count; a++) {
                budget.check();
                if (at[a + 1] - at[a] > 1) {
                    Arrays.sort(keys, at[a], at[a + 1]);
                }
                for (int i = at[a], end; i < at[a + 1]; i = end) {
                    int b = (int) (keys[i] >> 32);
                    end = i + 1;
                    while (end < at[a + 1] && (int) (keys[end] >> 32) == b) {
                        end++;
                    }
                    // All parallel edges have the same number of values at both ends.
                    shared.begin(domain[a], domain[b]);
                    for (int k = i; k < end; k++) {
                        int e = (int) keys[k];
                        shared.add(problem.matrixNumber(e));
                        shared.add(valuesNumber[problem.edgeFrom(e)]);
                        shared.add(valuesNumber[problem.edgeTo(e)]);
                        shared.add(isStraight(e) ? 1 : 0);
                    }
                    Matrix known = shared.get();
                    if (known == null) {
                        known = new Matrix(sum(a, b, keys, i, end), different++, domain[b]);
                        shared.put(known);
                    }
                    edgeA[edgeCount] = a;
                    edgeB[edgeCount] = b;
                    matrix[edgeCount++] = known;
                }
            }
        }

        private boolean isStraight(int e) {
            return variableByNode[problem.edgeFrom(e)] < variableByNode[problem.edgeTo(e)];
        }

        private void fold(int e, int a, int b) {
            int[] si = strategyByNodeAndValue[problem.edgeFrom(e)];
            int[] sj = strategyByNodeAndValue[problem.edgeTo(e)];
            if (a == b) {
                for (int k = 0; k < si.length; k++) {
                    unary[a][k] += finite(problem.edgeCost(e, si[k], sj[k]));
                }
                return;
            }
            for (int k = 0; k < si.length; k++) {
                for (int l = 0; l < sj.length; l++) {
                    double cost = finite(problem.edgeCost(e, si[k], sj[l]));
                    if (domain[a] > 1) {
                        unary[a][k] += cost;
                    } else {
                        unary[b][l] += cost;
                    }
                }
            }
        }

        private double[] sum(int a, int b, long[] keys, int from, int to) {
            double[] costs = new double[domain[a] * domain[b]];
            for (int i = from; i < to; i++) {
                int e = (int) keys[i];
                int[] si = strategyByNodeAndValue[problem.edgeFrom(e)];
                int[] sj = strategyByNodeAndValue[problem.edgeTo(e)];
                long[] all = problem.matrix(problem.matrixNumber(e));
                int columns = problem.strategyCount(problem.edgeTo(e));
                boolean straight = isStraight(e);
                for (int k = 0; k < si.length; k++) {
                    addRow(all, si[k] * columns, sj, costs, straight ? k * domain[b] : k, straight ? 1 : domain[b]);
                }
            }
            return costs;
        }

        private static void addRow(long[] all, int row, int[] columns, double[] costs, int first, int step) {
            int into = first;
            for (int column : columns) {
                costs[into] += finite(all[row + column]);
                into += step;
            }
        }

        private static double finite(long cost) {
            return cost >= StrategyProblem.FORBIDDEN ? Double.POSITIVE_INFINITY : cost;
        }

        /** Moves edge(a, b) = f(a) + g(b) into the unary costs and drops the edge. */
        private void foldSeparable() {
            int left = 0;
            for (int e = 0; e < edgeCount; e++) {
                int a = edgeA[e];
                int b = edgeB[e];
                if (matrix[e].separable) {
                    double[] m = matrix[e].costs;
                    int width = domain[b];
                    int least = Tables.least(m, width);
                    for (int k = 0; k < domain[a]; k++) {
                        unary[a][k] += m[k * width + least];
                    }
                    for (int l = 0; l < width; l++) {
                        unary[b][l] += m[l] - m[least];
                    }
                } else {
                    edgeA[left] = a;
                    edgeB[left] = b;
                    matrix[left++] = matrix[e];
                }
            }
            edgeCount = left;
        }

        /** Values that can go: forbidden ones and dominated ones, as (variable, value). */
        List<int[]> removable() {
            List<List<Dominance.Side>> sidesByVariable = new ArrayList<>();
            for (int v = 0; v < count; v++) {
                sidesByVariable.add(new ArrayList<>());
            }
            for (int e = 0; e < edgeCount; e++) {
                sidesByVariable.get(edgeA[e]).add(matrix[e].sides().get(0));
                sidesByVariable.get(edgeB[e]).add(matrix[e].sides().get(1));
            }
            Dominance dominance = new Dominance(dominating);
            List<int[]> gone = new ArrayList<>();
            for (int v = 0; v < count && !budget.late(); v++) {
                boolean[] out = dominance.gone(
                        unary[v], usage.segUsage[v], sidesByVariable.get(v).toArray(new Dominance.Side[0]));
                int before = gone.size();
                for (int k = 0; k < out.length; k++) {
                    if (out[k]) {
                        gone.add(new int[] {v, k});
                    }
                }
                if (gone.size() - before == domain[v]) {
                    contradiction = "The forbidden pairs around node " + firstNode(v)
                            + " leave it no strategy at all, though no single edge does.";
                    return gone;
                }
            }
            return gone;
        }

        private int firstNode(int v) {
            for (int i = 0; i < n; i++) {
                if (variableByNode[i] == v) {
                    return i;
                }
            }
            throw new AssertionError("variable " + v + " has no node");
        }

        private static Expansion expansion(int[] variableByNode, int[][] strategies) {
            return x -> {
                int[] choices = new int[variableByNode.length];
                for (int i = 0; i < choices.length; i++) {
                    choices[i] = strategies[i][variableByNode[i] < 0 ? 0 : x[variableByNode[i]]];
                }
                return choices;
            };
        }

        /** Renumbers: variables with one value become constants. */
        Result finish() {
            double constant = 0;
            int[] number = new int[count];
            int size = 0;
            for (int v = 0; v < count; v++) {
                if (domain[v] == 1) {
                    constant += unary[v][0];
                    number[v] = -1;
                } else {
                    number[v] = size++;
                }
            }
            double[][] coreUnary = new double[size][];
            int[][] segStart = new int[size][];
            int[][] segEnd = new int[size][];
            long[][][] segUsage = new long[size][][];
            for (int v = 0; v < count; v++) {
                if (number[v] >= 0) {
                    coreUnary[number[v]] = unary[v];
                    segStart[number[v]] = usage.segStart[v];
                    segEnd[number[v]] = usage.segEnd[v];
                    segUsage[number[v]] = usage.segUsage[v];
                }
            }
            int[] a = new int[edgeCount];
            int[] b = new int[edgeCount];
            double[][] costs = new double[edgeCount][];
            for (int e = 0; e < edgeCount; e++) {
                a[e] = number[edgeA[e]];
                b[e] = number[edgeB[e]];
                costs[e] = matrix[e].costs;
            }
            int[] byNode = new int[n];
            for (int i = 0; i < n; i++) {
                byNode[i] = number[variableByNode[i]];
            }
            return new Result(
                    new Core(
                            constant,
                            coreUnary,
                            a,
                            b,
                            costs,
                            usage.withSegments(segStart, segEnd, segUsage),
                            expansion(byNode, strategyByNodeAndValue)),
                    "");
        }
    }
}
