package dev.drover.solver;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/**
 * A choice straight from the problem, for when the time ends before the reductions do: each node in turn takes the cheapest strategy
 * that its earlier neighbours allow; if that passes the usage limit, the one that uses least, and then a cheaper one that uses no more. Nodes left in
 * forbidden pairs choose anew until there are none.
 */
final class QuickChoice {
    private final StrategyProblem problem;
    private final int[][] edgesByNode;
    private final int[] x;

    private QuickChoice(StrategyProblem problem) {
        this.problem = problem;
        int n = problem.nodeCount();
        int[] degree = new int[n];
        for (int e = 0; e < problem.edgeCount(); e++) {
            degree[problem.edgeFrom(e)]++;
            degree[problem.edgeTo(e)]++;
        }
        edgesByNode = new int[n][];
        for (int i = 0; i < n; i++) {
            edgesByNode[i] = new int[degree[i]];
        }
        for (int e = 0; e < problem.edgeCount(); e++) {
            edgesByNode[problem.edgeFrom(e)][--degree[problem.edgeFrom(e)]] = e;
            edgesByNode[problem.edgeTo(e)][--degree[problem.edgeTo(e)]] = e;
        }
        x = new int[n];
    }

    /** A feasible choice and its score. */
    record Found(List<Integer> choices, Evaluator.Evaluation score) {}

    /** Returns a feasible choice, null if none was found. */
    static @Nullable Found find(StrategyProblem problem) {
        QuickChoice quick = new QuickChoice(problem);
        for (boolean thrifty : new boolean[] {false, true}) {
            if (quick.dive(thrifty) || quick.repair(thrifty)) {
                if (thrifty) {
                    quick.descend();
                }
                List<Integer> choices = new ArrayList<>(quick.x.length);
                for (int k : quick.x) {
                    choices.add(k);
                }
                Evaluator.Evaluation score = Evaluator.evaluate(problem, choices);
                if (score.feasible()) {
                    return new Found(choices, score);
                }
            }
        }
        return null;
    }

    /** Sets each node once; returns whether that made no forbidden pair. */
    private boolean dive(boolean thrifty) {
        Arrays.fill(x, -1);
        boolean clean = true;
        for (int i = 0; i < x.length; i++) {
            x[i] = best(i, thrifty);
            clean &= conflicts(i, x[i]) == 0;
        }
        return clean;
    }

    /** Nodes in forbidden pairs choose anew, in turns, until there are none (min-conflicts, Minton et al. 1992). */
    private boolean repair(boolean thrifty) {
        ArrayDeque<Integer> work = new ArrayDeque<>();
        boolean[] queued = new boolean[x.length];
        for (int i = 0; i < x.length; i++) {
            queued[i] = conflicts(i, x[i]) > 0;
            if (queued[i]) {
                work.add(i);
            }
        }
        SplittableRandom random = new SplittableRandom(1);
        for (long left = 4L * x.length + 1000; left > 0 && !work.isEmpty(); left--) {
            int i = work.poll();
            queued[i] = false;
            if (conflicts(i, x[i]) == 0) {
                continue;
            }
            // Now and then any strategy, so that two nodes do not chase each other for ever.
            x[i] = random.nextInt(16) == 0 ? random.nextInt(problem.strategyCount(i)) : best(i, thrifty);
            int now = conflicts(i, x[i]);
            for (int e : edgesByNode[i]) {
                int other = other(e, i);
                if (now > 0 && !queued[other] && conflicts(other, x[other]) > 0) {
                    queued[other] = true;
                    work.add(other);
                }
            }
            if (now > 0 && !queued[i]) {
                queued[i] = true;
                work.add(i);
            }
        }
        return work.isEmpty();
    }

    /** The strategy of least conflicts, then least use if thrifty, then least cost. */
    private int best(int i, boolean thrifty) {
        int best = 0;
        int bestConflicts = Integer.MAX_VALUE;
        double bestCost = 0;
        for (int k = 0; k < problem.strategyCount(i); k++) {
            int conflicts = conflicts(i, k);
            double cost = conflicts > 0 ? 0 : cost(i, k);
            long less = thrifty ? problem.usage(i, best) - problem.usage(i, k) : 0;
            if (conflicts < bestConflicts
                    || (conflicts == bestConflicts && (less > 0 || (less == 0 && cost < bestCost)))) {
                best = k;
                bestConflicts = conflicts;
                bestCost = cost;
            }
        }
        return best;
    }

    private int other(int edge, int node) {
        return problem.edgeFrom(edge) == node ? problem.edgeTo(edge) : problem.edgeFrom(edge);
    }

    /** Forbidden pairs with neighbours that have a strategy; a forbidden strategy counts as many. */
    private int conflicts(int i, int k) {
        int count = problem.cost(i, k) >= StrategyProblem.FORBIDDEN ? 1 + edgesByNode[i].length : 0;
        for (int e : edgesByNode[i]) {
            boolean first = problem.edgeFrom(e) == i;
            int other = x[other(e, i)];
            if (other >= 0) {
                long cost = first ? problem.edgeCost(e, k, other) : problem.edgeCost(e, other, k);
                count += cost >= StrategyProblem.FORBIDDEN ? 1 : 0;
            }
        }
        return count;
    }

    private void descend() {
        for (int i = 0; i < x.length; i++) {
            double now = cost(i, x[i]);
            for (int k = 0; k < problem.strategyCount(i); k++) {
                if (problem.usage(i, k) <= problem.usage(i, x[i])) {
                    double cost = cost(i, k);
                    if (cost < now) {
                        now = cost;
                        x[i] = k;
                    }
                }
            }
        }
    }

    /** Cost with the neighbours that have a strategy, infinite if forbidden. */
    private double cost(int i, int k) {
        if (problem.cost(i, k) >= StrategyProblem.FORBIDDEN) {
            return Double.POSITIVE_INFINITY;
        }
        double sum = problem.cost(i, k);
        for (int e : edgesByNode[i]) {
            boolean first = problem.edgeFrom(e) == i;
            int other = x[first ? problem.edgeTo(e) : problem.edgeFrom(e)];
            if (other >= 0) {
                long cost = first ? problem.edgeCost(e, k, other) : problem.edgeCost(e, other, k);
                if (cost >= StrategyProblem.FORBIDDEN) {
                    return Double.POSITIVE_INFINITY;
                }
                sum += cost;
            }
        }
        return sum;
    }
}
