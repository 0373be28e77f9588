package dev.drover.solver;

import dev.drover.solver.SolveOptions.Technique;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
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
    private final boolean dominance;
    private final int n;
    private final boolean[][] allowed;
    private final int[][] edgesByNode;
    private final IdentityHashMap<long[], Boolean> forbids = new IdentityHashMap<>();
    private String contradiction = "";

    private int[] variableByNode = new int[0];
    private int[][] strategyByNodeAndValue = new int[0][];

    private Reducer(StrategyProblem problem, Set<Technique> without) {
        this.problem = problem;
        this.merging = !without.contains(Technique.MERGE);
        this.dominance = !without.contains(Technique.DOMINANCE);
        this.n = problem.nodeCount();
        this.allowed = new boolean[n][];
        int[] degree = new int[n];
        for (int e = 0; e < problem.edgeCount(); e++) {
            degree[problem.edgeFrom(e)]++;
            degree[problem.edgeTo(e)]++;
        }
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
        return new Reducer(problem, without).run();
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
                        ? "Node " + i + " alone is above the usage limit " + problem.usageLimit() + " in the interval ["
                                + problem.intervalStart(i) + ", " + problem.intervalEnd(i) + ") by "
                                + (leastUsage(i) - problem.usageLimit()) + " with each strategy it may take."
                        : "Node " + i + " forbids each of its strategies.";
                return new Result(null, contradiction);
            }
        }
        for (int e = 0; e < problem.edgeCount(); e++) {
            forbids.computeIfAbsent(
                    problem.edgeMatrix(e), m -> Arrays.stream(m).anyMatch(c -> c >= StrategyProblem.FORBIDDEN));
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
            List<int[]> removed = draft.removable();
            if (!contradiction.isEmpty()) {
                return new Result(null, contradiction);
            }
            if (removed.isEmpty() || round == 8) {
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
            int i = work.poll();
            queued[i] = false;
            for (int e : edgesByNode[i]) {
                if (!forbids.getOrDefault(problem.edgeMatrix(e), false)) {
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
        if (!merging || !forbids.getOrDefault(problem.edgeMatrix(e), false)) {
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
        for (int root = 0; root < n; root++) {
            if (variableByNode[root] >= 0) {
                continue;
            }
            int[] values = new int[size(root)];
            int filled = 0;
            for (int k = 0; k < allowed[root].length; k++) {
                if (allowed[root][k]) {
                    values[filled++] = k;
                }
            }
            strategyByNodeAndValue[root] = values;
            variableByNode[root] = count;
            ArrayDeque<Integer> work = new ArrayDeque<>(List.of(root));
            while (!work.isEmpty()) {
                int i = work.poll();
                for (int e : edgesByNode[i]) {
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

    /** The variables and edges of one round. */
    private final class Draft {
        private final int count;
        private final int[] domain;
        private final double[][] unary;
        private final Map<Long, double[]> matrixByPair = new HashMap<>();
        private final List<List<Long>> pairsByVariable = new ArrayList<>();
        private final UsageRows usage;

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
            for (int v = 0; v < count; v++) {
                pairsByVariable.add(new ArrayList<>());
            }
            for (int e = 0; e < problem.edgeCount(); e++) {
                add(e);
            }
            for (Long pair : matrixByPair.keySet().stream().sorted().toList()) {
                pairsByVariable.get((int) (pair >> 32)).add(pair);
                pairsByVariable.get((int) (long) pair).add(pair);
            }
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
            usage = UsageRows.of(domain, uses, problem.usageLimit());
            if (usage.brokenRow >= 0) {
                contradiction = "At time " + usage.rowTime[usage.brokenRow]
                        + " the least usage of the nodes alive is above the usage limit " + problem.usageLimit()
                        + " by "
                        + -usage.limit[usage.brokenRow] + ".";
            }
        }

        private void add(int e) {
            int i = problem.edgeFrom(e);
            int j = problem.edgeTo(e);
            int a = variableByNode[i];
            int b = variableByNode[j];
            int[] si = strategyByNodeAndValue[i];
            int[] sj = strategyByNodeAndValue[j];
            if (a == b) {
                for (int k = 0; k < si.length; k++) {
                    unary[a][k] += finite(problem.edgeCost(e, si[k], sj[k]));
                }
            } else if (domain[a] == 1 || domain[b] == 1) {
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
            } else {
                boolean straight = a < b;
                long key = straight ? ((long) a << 32) | b : ((long) b << 32) | a;
                double[] matrix = matrixByPair.computeIfAbsent(key, p -> new double[si.length * sj.length]);
                for (int k = 0; k < si.length; k++) {
                    for (int l = 0; l < sj.length; l++) {
                        matrix[straight ? k * sj.length + l : l * si.length + k] +=
                                finite(problem.edgeCost(e, si[k], sj[l]));
                    }
                }
            }
        }

        private static double finite(long cost) {
            return cost >= StrategyProblem.FORBIDDEN ? Double.POSITIVE_INFINITY : cost;
        }

        /** Moves edge(a, b) = f(a) + g(b) into the unary costs and drops the edge. */
        private void foldSeparable() {
            for (var entry : List.copyOf(matrixByPair.entrySet())) {
                int a = (int) (entry.getKey() >> 32);
                int b = (int) (long) entry.getKey();
                double[] m = entry.getValue();
                int width = domain[b];
                boolean separable = true;
                for (int k = 0; k < domain[a] && separable; k++) {
                    double step = m[k * width] - m[0];
                    for (int l = 0; l < width && separable; l++) {
                        separable = m[k * width + l] - m[l] == step;
                    }
                }
                if (separable) {
                    for (int k = 0; k < domain[a]; k++) {
                        unary[a][k] += m[k * width];
                    }
                    for (int l = 0; l < width; l++) {
                        unary[b][l] += m[l] - m[0];
                    }
                    matrixByPair.remove(entry.getKey());
                    pairsByVariable.get(a).remove(entry.getKey());
                    pairsByVariable.get(b).remove(entry.getKey());
                }
            }
        }

        /** Values that can go: forbidden ones and dominated ones, as (variable, value). */
        List<int[]> removable() {
            List<int[]> gone = new ArrayList<>();
            for (int v = 0; v < count; v++) {
                boolean[] out = new boolean[domain[v]];
                int left = domain[v];
                for (int k = 0; k < domain[v]; k++) {
                    boolean dead = unary[v][k] == Double.POSITIVE_INFINITY;
                    for (int p = 0; p < pairsByVariable.get(v).size() && !dead; p++) {
                        dead = allInfinite(v, k, pairsByVariable.get(v).get(p));
                    }
                    if (dead) {
                        out[k] = true;
                        left--;
                        gone.add(new int[] {v, k});
                    }
                }
                if (left == 0) {
                    contradiction = "The forbidden pairs around node " + firstNode(v)
                            + " leave it no strategy at all, though no single edge does.";
                    return gone;
                }
                if (dominance && domain[v] > 1 && domain[v] <= 400) {
                    for (int k = 0; k < domain[v]; k++) {
                        for (int better = 0; better < domain[v] && !out[k]; better++) {
                            if (better != k && !out[better] && dominates(v, better, k)) {
                                out[k] = true;
                                gone.add(new int[] {v, k});
                            }
                        }
                    }
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

        private boolean allInfinite(int v, int k, long pair) {
            double[] m = pairMatrix(pair);
            boolean first = (int) (pair >> 32) == v;
            int width = domain[(int) pair];
            int others = first ? width : domain[(int) (pair >> 32)];
            for (int o = 0; o < others; o++) {
                if (m[first ? k * width + o : o * width + k] != Double.POSITIVE_INFINITY) {
                    return false;
                }
            }
            return true;
        }

        private double[] pairMatrix(long pair) {
            double[] m = matrixByPair.get(pair);
            if (m == null) {
                throw new AssertionError("no edge " + pair);
            }
            return m;
        }

        private boolean dominates(int v, int better, int worse) {
            double surplus = unary[v][worse] - unary[v][better];
            if (surplus < 0) {
                return false;
            }
            for (int s = 0; s < usage.segStart[v].length; s++) {
                if (usage.segUsage[v][s][better] > usage.segUsage[v][s][worse]) {
                    return false;
                }
            }
            for (long pair : pairsByVariable.get(v)) {
                double[] m = pairMatrix(pair);
                boolean first = (int) (pair >> 32) == v;
                int width = domain[(int) pair];
                int others = first ? width : domain[(int) (pair >> 32)];
                double most = Double.NEGATIVE_INFINITY;
                for (int o = 0; o < others; o++) {
                    double w = m[first ? worse * width + o : o * width + worse];
                    double b = m[first ? better * width + o : o * width + better];
                    if (w != Double.POSITIVE_INFINITY) {
                        most = Math.max(most, b - w);
                    }
                }
                surplus -= most;
                if (surplus < 0) {
                    return false;
                }
            }
            return true;
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
            List<Long> pairs = matrixByPair.keySet().stream().sorted().toList();
            int[] a = new int[pairs.size()];
            int[] b = new int[pairs.size()];
            double[][] matrices = new double[pairs.size()][];
            for (int e = 0; e < a.length; e++) {
                a[e] = number[(int) (pairs.get(e) >> 32)];
                b[e] = number[(int) (long) pairs.get(e)];
                matrices[e] = pairMatrix(pairs.get(e));
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
                            matrices,
                            usage.withSegments(segStart, segEnd, segUsage),
                            byNode,
                            strategyByNodeAndValue),
                    "");
        }
    }
}
