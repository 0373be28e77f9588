package dev.drover.solver;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * A choice straight from the problem, for when the time ends before the reductions do: each node in turn takes the cheapest strategy
 * that its earlier neighbours allow; if that passes the usage limit, the one that uses least, and then a cheaper one that uses no more.
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

    /** Returns a feasible choice, an empty list if none was found. */
    static List<Integer> find(StrategyProblem problem) {
        QuickChoice quick = new QuickChoice(problem);
        for (boolean thrifty : new boolean[] {false, true}) {
            if (quick.dive(thrifty)) {
                if (thrifty) {
                    quick.descend();
                }
                List<Integer> choices = new ArrayList<>(quick.x.length);
                for (int k : quick.x) {
                    choices.add(k);
                }
                if (Evaluator.evaluate(problem, choices).feasible()) {
                    return choices;
                }
            }
        }
        return List.of();
    }

    private boolean dive(boolean thrifty) {
        Arrays.fill(x, -1);
        for (int i = 0; i < x.length; i++) {
            int best = -1;
            double bestCost = 0;
            for (int k = 0; k < problem.strategyCount(i); k++) {
                double cost = cost(i, k);
                if (cost == Double.POSITIVE_INFINITY) {
                    continue;
                }
                long less = best < 0 || !thrifty ? 0 : problem.usage(i, best) - problem.usage(i, k);
                if (best < 0 || less > 0 || (less == 0 && cost < bestCost)) {
                    best = k;
                    bestCost = cost;
                }
            }
            if (best < 0) {
                return false;
            }
            x[i] = best;
        }
        return true;
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
