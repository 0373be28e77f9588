package dev.drover.solver;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;

/**
 * Scores a choice straight from the definition, sharing no code with the solver. Sums are exact, of any size.
 */
public final class Evaluator {
    private Evaluator() {}

    /**
     * The score of one choice.
     *
     * @param cost sum of all node and edge costs
     * @param peakUsage greatest sum of usages at any time
     * @param peakTime the first time of that peak, 0 if nothing is ever alive
     * @param problems what makes the choice infeasible, empty if it is feasible
     */
    public record Evaluation(BigInteger cost, BigInteger peakUsage, long peakTime, List<String> problems) {
        /** Copies the list. */
        public Evaluation {
            problems = List.copyOf(problems);
        }

        /** Returns whether no choice or pair is forbidden and the limit is kept. */
        public boolean feasible() {
            return problems.isEmpty();
        }
    }

    /**
     * Scores a choice.
     *
     * @param problem the problem
     * @param choices one strategy per node
     * @return the cost and the peak, and everything that makes it infeasible (at most 20 forbidden choices are listed)
     */
    public static Evaluation evaluate(StrategyProblem problem, List<Integer> choices) {
        if (choices.size() != problem.nodeCount()) {
            throw new SolverInputException("The choice count (" + choices.size() + ") of problem (" + problem.name()
                    + ") must equal its node count (" + problem.nodeCount()
                    + ").\nMaybe the choices belong to another problem.");
        }
        List<String> problems = new ArrayList<>();
        Sum cost = new Sum();
        TreeMap<Long, Sum> changeByTime = new TreeMap<>();
        for (int i = 0; i < choices.size(); i++) {
            int k = choices.get(i);
            if (k < 0 || k >= problem.strategyCount(i)) {
                throw new SolverInputException("The choice (" + k + ") of node (" + i
                        + ") must be at least 0 and below its strategy count (" + problem.strategyCount(i)
                        + ").\nMaybe the choices belong to another problem.");
            }
            cost.add(problem.cost(i, k));
            if (problem.cost(i, k) >= StrategyProblem.FORBIDDEN) {
                note(problems, "node " + i + " forbids its strategy " + k);
            }
            if (problem.intervalStart(i) < problem.intervalEnd(i)) {
                changeByTime
                        .computeIfAbsent(problem.intervalStart(i), time -> new Sum())
                        .add(problem.usage(i, k));
                changeByTime
                        .computeIfAbsent(problem.intervalEnd(i), time -> new Sum())
                        .add(-problem.usage(i, k));
            }
        }
        for (int e = 0; e < problem.edgeCount(); e++) {
            int from = problem.edgeFrom(e);
            int to = problem.edgeTo(e);
            long edgeCost = problem.edgeCost(e, choices.get(from), choices.get(to));
            cost.add(edgeCost);
            if (edgeCost >= StrategyProblem.FORBIDDEN) {
                note(
                        problems,
                        "edge " + e + " forbids strategy " + choices.get(from) + " of node " + from + " with strategy "
                                + choices.get(to) + " of node " + to);
            }
        }
        BigInteger usage = BigInteger.ZERO;
        BigInteger peak = BigInteger.ZERO;
        long peakTime = 0;
        for (var entry : changeByTime.entrySet()) {
            usage = usage.add(entry.getValue().value());
            if (usage.compareTo(peak) > 0) {
                peak = usage;
                peakTime = entry.getKey();
            }
        }
        BigInteger limit = BigInteger.valueOf(problem.usageLimit());
        if (problem.usageLimit() != StrategyProblem.UNLIMITED && peak.compareTo(limit) > 0) {
            note(
                    problems,
                    "usage " + peak + " at time " + peakTime + " is " + peak.subtract(limit) + " above the limit "
                            + limit);
        }
        return new Evaluation(cost.value(), peak, peakTime, problems);
    }

    private static void note(List<String> problems, String text) {
        if (problems.size() < 20) {
            problems.add(text);
        }
    }

    /** A sum of longs as two words of 64 bits. */
    private static final class Sum {
        private long high;
        private long low;

        void add(long value) {
            long sum = low + value;
            high += (value >> 63) + (Long.compareUnsigned(sum, low) < 0 ? 1 : 0);
            low = sum;
        }

        BigInteger value() {
            BigInteger unsigned = BigInteger.valueOf(low);
            if (low < 0) {
                unsigned = unsigned.add(BigInteger.ONE.shiftLeft(64));
            }
            return BigInteger.valueOf(high).shiftLeft(64).add(unsigned);
        }
    }
}
