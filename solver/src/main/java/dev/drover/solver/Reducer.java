package dev.drover.solver;

import dev.drover.solver.SolveOptions.Technique;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
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
     * @param contradiction why no choice is feasible, empty if there is a core
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
        return Condenser.condense(core, !without.contains(Technique.DOMINANCE), problem.usageLimit(), budget);
    }

    /** What the {@link Condenser} gets. */
    static Result uncondensed(StrategyProblem problem, Set<Technique> without, Budget budget) {
        return new Reducer(problem, without, budget).run();
    }

    private Result run() {
        for (int i = 0; i < n; i++) {
            allowed[i] = new boolean[problem.strategyCount(i)];
            boolean alive = problem.intervalStart(i) < problem.intervalEnd(i);
            boolean anyCost = false;
            for (int k = 0; k < allowed[i].length; k++) {
                boolean cheap = problem.cost(i, k) < StrategyProblem.FORBIDDEN;
                anyCost |= cheap;
                allowed[i][k] = cheap && (!alive || problem.usage(i, k) <= problem.usageLimit());
            }
            if (size(i) == 0) {
                contradiction = anyCost
                        ? "Node " + i + " alone uses at least " + leastUsage(i) + " in the interval ["
                                + problem.intervalStart(i) + ", " + problem.intervalEnd(i)
                                + ") with each strategy it may take, above the usage limit " + problem.usageLimit()
                                + " by " + (leastUsage(i) - problem.usageLimit()) + "."
                        : "Node " + i + " forbids each of its strategies.";
                return new Result(null, contradiction);
            }
        }
        IdentityHashMap<long[], Boolean> forbidsByMatrix = new IdentityHashMap<>();
        for (int e = 0; e < forbids.length; e++) {
            forbids[e] = forbidsByMatrix.computeIfAbsent(problem.edgeMatrix(e), Reducer::hasForbidden);
            anyForbids |= forbids[e];
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

    private static boolean hasForbidden(long[] matrix) {
        for (long cost : matrix) {
            if (cost >= StrategyProblem.FORBIDDEN) {
                return true;
            }
        }
        return false;
    }

    private long leastUsage(int node) {
        long least = Long.MAX_VALUE;
        for (int k = 0; k < problem.strategyCount(node); k++) {
            if (problem.cost(node, k) < StrategyProblem.FORBIDDEN) {
                least = Math.min(least, problem.usage(node, k));
            }
        }
        return least;
    }

    private int size(int node) {
        int count = 0;
        for (boolean a : allowed[node]) {
            count += a ? 1 : 0;
        }
        return count;
    }

    /** Removes strategies without partner; false if a node has none left. */
    private boolean propagate(boolean[] changed) {
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
        if (!merging || !forbids[e]) {
            return null;
        }
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
        ArrayDeque<Integer> work = new ArrayDeque<>();
        for (int root = 0; root < n; root++) {
            if (variableByNode[root] >= 0) {
                continue;
            }
            budget.check();
            int[] values = new int[size(root)];
            int filled = 0;
            for (int k = 0; k < allowed[root].length; k++) {
                if (allowed[root][k]) {
                    values[filled++] = k;
                }
            }
            strategyByNodeAndValue[root] = values;
            variableByNode[root] = count;
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
                    variableByNode[j] = count;
                    work.add(j);
                }
            }
            count++;
        }
    }

    /** Equal edges under equal values of both ends have one matrix. */
    private static final class MatrixKey {
        private final int edgeMatrix;
        private final int rows;
        private final int columns;
        private final boolean straight;

        MatrixKey(int edgeMatrix, int rows, int columns, boolean straight) {
            this.edgeMatrix = edgeMatrix;
            this.rows = rows;
            this.columns = columns;
            this.straight = straight;
        }

        @Override
        public boolean equals(@Nullable Object other) {
            return other instanceof MatrixKey key
                    && edgeMatrix == key.edgeMatrix
                    && rows == key.rows
                    && columns == key.columns
                    && straight == key.straight;
        }

        @Override
        public int hashCode() {
            int hash = (edgeMatrix * 31 + rows) * 31 + columns;
            return (hash * 2 + (straight ? 1 : 0)) * 0x9E3779B1;
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
                this.separable = isSeparable(costs, width);
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
            count = Arrays.stream(variableByNode).max().orElse(-1) + 1;
            domain = new int[count];
            unary = new double[count][];
            for (int i = 0; i < n; i++) {
                int v = variableByNode[i];
                int[] strategies = strategyByNodeAndValue[i];
                if (unary[v] == null) {
                    domain[v] = strategies.length;
                    unary[v] = new double[strategies.length];
                }
                for (int k = 0; k < strategies.length; k++) {
                    unary[v][k] += problem.cost(i, strategies[k]);
                }
            }
            addEdges();
            foldSeparable();
            List<UsageRows.Use> uses = new ArrayList<>();
            if (problem.usageLimit() != StrategyProblem.UNLIMITED) {
                for (int i = 0; i < n; i++) {
                    if (problem.intervalStart(i) < problem.intervalEnd(i)) {
                        int[] strategies = strategyByNodeAndValue[i];
                        long[] u = new long[strategies.length];
                        for (int k = 0; k < u.length; k++) {
                            u[k] = problem.usage(i, strategies[k]);
                        }
                        uses.add(new UsageRows.Use(
                                variableByNode[i], problem.intervalStart(i), problem.intervalEnd(i), u));
                    }
                }
            }
            usage = UsageRows.of(domain, uses, problem.usageLimit(), budget);
            if (usage.brokenRow >= 0) {
                long excess = -usage.limit[usage.brokenRow];
                contradiction = "In the interval " + usage.rowTime[usage.brokenRow]
                        + " the least that the nodes alive can use together is " + (problem.usageLimit() + excess)
                        + ", above the usage limit " + problem.usageLimit() + " by " + excess + ".";
            }
        }

        private void addEdges() {
            int[] valuesNumber = new int[n];
            Map<IntRow, Integer> numberByValues = new HashMap<>();
            for (int i = 0; i < n; i++) {
                valuesNumber[i] = numberByValues.computeIfAbsent(
                        new IntRow(strategyByNodeAndValue[i]), v -> numberByValues.size());
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
            Map<Object, Matrix> shared = new HashMap<>();
            IdentityHashMap<long[], Integer> numberByEdgeMatrix = new IdentityHashMap<>();
            for (int a = 0; a < count; a++) {
                budget.check();
                Arrays.sort(keys, at[a], at[a + 1]);
                for (int i = at[a], end; i < at[a + 1]; i = end) {
                    int b = (int) (keys[i] >> 32);
                    end = i + 1;
                    while (end < at[a + 1] && (int) (keys[end] >> 32) == b) {
                        end++;
                    }
                    MatrixKey first = null;
                    List<MatrixKey> parts = List.of();
                    for (int k = i; k < end; k++) {
                        int e = (int) keys[k];
                        MatrixKey part = new MatrixKey(
                                numberByEdgeMatrix.computeIfAbsent(
                                        problem.edgeMatrix(e), m -> numberByEdgeMatrix.size()),
                                valuesNumber[problem.edgeFrom(e)],
                                valuesNumber[problem.edgeTo(e)],
                                isStraight(e));
                        if (first == null) {
                            first = part;
                            parts = end - i == 1 ? parts : new ArrayList<>(end - i);
                        }
                        if (end - i > 1) {
                            parts.add(part);
                        }
                    }
                    Object key = end - i == 1 ? Objects.requireNonNull(first) : parts;
                    Matrix known = shared.get(key);
                    if (known == null) {
                        known = new Matrix(sum(a, b, keys, i, end), shared.size(), domain[b]);
                        shared.put(key, known);
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
            int width = domain[b];
            double[] costs = new double[domain[a] * width];
            for (int i = from; i < to; i++) {
                int e = (int) keys[i];
                int[] si = strategyByNodeAndValue[problem.edgeFrom(e)];
                int[] sj = strategyByNodeAndValue[problem.edgeTo(e)];
                boolean straight = isStraight(e);
                for (int k = 0; k < si.length; k++) {
                    for (int l = 0; l < sj.length; l++) {
                        costs[straight ? k * width + l : l * width + k] += finite(problem.edgeCost(e, si[k], sj[l]));
                    }
                }
            }
            return costs;
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
                    for (int k = 0; k < domain[a]; k++) {
                        unary[a][k] += m[k * width];
                    }
                    for (int l = 0; l < width; l++) {
                        unary[b][l] += m[l] - m[0];
                    }
                } else {
                    edgeA[left] = a;
                    edgeB[left] = b;
                    matrix[left++] = matrix[e];
                }
            }
            edgeCount = left;
        }

        private static boolean isSeparable(double[] m, int width) {
            for (int k = 0; k < m.length / width; k++) {
                double step = m[k * width] - m[0];
                for (int l = 0; l < width; l++) {
                    if (m[k * width + l] - m[l] != step) {
                        return false;
                    }
                }
            }
            return true;
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
