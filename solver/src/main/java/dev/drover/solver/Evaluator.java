package dev.drover.solver;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

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
        // In small steps, each a method: what is done once runs in the interpreter, which compiles a method sooner than
        // a loop.
        List<String> problems = new ArrayList<>();
        int[] strategies = new int[choices.size()];
        Sum cost = new Sum();
        for (int i = 0; i < strategies.length; i++) {
            strategies[i] = choices.get(i);
            addNode(problem, i, strategies[i], cost, problems);
        }
        for (int e = 0; e < problem.edgeCount(); e++) {
            addEdge(problem, e, strategies, cost, problems);
        }
        long[] times = times(problem);
        Sum[] changes = changes(problem, strategies, times);
        Sum usage = new Sum();
        Sum most = new Sum();
        long peakTime = 0;
        for (int t = 0; t < times.length; t++) {
            usage.add(changes[t]);
            if (usage.compareTo(most) > 0) {
                most = usage.copy();
                peakTime = times[t];
            }
        }
        BigInteger peak = most.value();
        BigInteger limit = BigInteger.valueOf(problem.usageLimit());
        if (problem.usageLimit() != StrategyProblem.UNLIMITED && peak.compareTo(limit) > 0) {
            note(
                    problems,
                    "usage " + peak + " at time " + peakTime + " is " + peak.subtract(limit) + " above the limit "
                            + limit);
        }
        return new Evaluation(cost.value(), peak, peakTime, problems);
    }

    private static void addNode(StrategyProblem problem, int i, int k, Sum cost, List<String> problems) {
        if (k < 0 || k >= problem.strategyCount(i)) {
            throw new SolverInputException("The choice (" + k + ") of node (" + i
                    + ") must be at least 0 and below its strategy count (" + problem.strategyCount(i)
                    + ").\nMaybe the choices belong to another problem.");
        }
        cost.add(problem.cost(i, k));
        if (problem.cost(i, k) >= StrategyProblem.FORBIDDEN) {
            note(problems, "node " + i + " forbids its strategy " + k);
        }
    }

    private static void addEdge(StrategyProblem problem, int e, int[] strategies, Sum cost, List<String> problems) {
        int from = problem.edgeFrom(e);
        int to = problem.edgeTo(e);
        long edgeCost = problem.edgeCost(e, strategies[from], strategies[to]);
        cost.add(edgeCost);
        if (edgeCost >= StrategyProblem.FORBIDDEN) {
            note(
                    problems,
                    "edge " + e + " forbids strategy " + strategies[from] + " of node " + from + " with strategy "
                            + strategies[to] + " of node " + to);
        }
    }

    /** Returns the times at which some node's life begins or ends, in order. */
    private static long[] times(StrategyProblem problem) {
        long[] times = new long[2 * problem.nodeCount()];
        int count = 0;
        for (int i = 0; i < problem.nodeCount(); i++) {
            if (problem.intervalStart(i) < problem.intervalEnd(i)) {
                times[count++] = problem.intervalStart(i);
                times[count++] = problem.intervalEnd(i);
            }
        }
        Arrays.sort(times, 0, count);
        int different = 0;
        for (int t = 0; t < count; t++) {
            if (t == 0 || times[t] != times[t - 1]) {
                times[different++] = times[t];
            }
        }
        return Arrays.copyOf(times, different);
    }

    /** Returns by how much the usage changes at each of the times. */
    private static Sum[] changes(StrategyProblem problem, int[] strategies, long[] times) {
        Sum[] changes = new Sum[times.length];
        for (int t = 0; t < changes.length; t++) {
            changes[t] = new Sum();
        }
        for (int i = 0; i < strategies.length; i++) {
            long start = problem.intervalStart(i);
            long end = problem.intervalEnd(i);
            if (start < end) {
                addUsage(problem.usage(i, strategies[i]), start, end, times, changes);
            }
        }
        return changes;
    }

    private static void addUsage(long usage, long start, long end, long[] times, Sum[] changes) {
        if (usage != 0) {
            changes[Arrays.binarySearch(times, start)].add(usage);
            changes[Arrays.binarySearch(times, end)].add(-usage);
        }
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

        void add(Sum more) {
            long sum = low + more.low;
            high += more.high + (Long.compareUnsigned(sum, low) < 0 ? 1 : 0);
            low = sum;
        }

        Sum copy() {
            Sum copy = new Sum();
            copy.high = high;
            copy.low = low;
            return copy;
        }

        int compareTo(Sum other) {
            return high != other.high ? Long.compare(high, other.high) : Long.compareUnsigned(low, other.low);
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
