package dev.drover.solver;

import dev.drover.solver.Solution.Status;
import dev.drover.solver.SolveOptions.Technique;
import java.math.BigInteger;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.function.LongSupplier;

/**
 * Solves a {@link StrategyProblem}: anytime, with a proven lower bound.
 *
 * <pre>
 *   problem --Reducer--&gt; Core --DualBound--&gt; bound, prices, decoded choices
 *                          \--Search--&gt; better choices by exact neighbourhoods, proof if the core is narrow
 * </pre>
 *
 * <pre>{@code
 * StrategyProblem.Builder builder = StrategyProblem.builder("two matrices");
 * int a = builder.node(0, 2, new long[] {0, 5}, new long[] {8, 4});
 * int b = builder.node(1, 3, new long[] {0, 7}, new long[] {8, 4});
 * builder.edge(a, b, new long[] {0, 3, 3, 0});
 * builder.usageLimit(12);
 * Solution s = StrategySolver.solve(builder.build(), SolveOptions.ofSeconds(1), ProgressListener.SILENT);
 * }</pre>
 */
public final class StrategySolver {
    /** The largest sum that doubles tell from its neighbours. */
    private static final long EXACT = 1L << 53;

    /** More than a sum of a million doubles can be wrong by, as a part of it. */
    private static final double ROUNDING = 1e-9;

    private StrategySolver() {}

    /**
     * Finds the best choice that it can until the timeout or a proof ends it, or an interrupt of the calling thread, which gets what was
     * found so far (and stays interrupted).
     *
     * @param problem what to solve
     * @param options time, threads, seed
     * @param listener told of each improvement
     * @return the choice, re-scored by {@link Evaluator}, with a lower bound; or why there is none. If the memory of the heap ends, what was
     *     found until then, with {@link Solution#memoryEnded}
     * @throws SolverInputException if the sums of the least costs or of the usages that the limit allows, or the cost of the best choice, are
     *     2^62 or more
     * @throws IllegalStateException if the listener throws something, which is the cause
     */
    public static Solution solve(StrategyProblem problem, SolveOptions options, ProgressListener listener) {
        return solve(
                Objects.requireNonNull(problem, "problem"),
                Objects.requireNonNull(options, "options"),
                Objects.requireNonNull(listener, "listener"),
                System::nanoTime);
    }

    /** Solves by another clock, such as the processor time, for measurements on a loaded machine. */
    static Solution solve(
            StrategyProblem problem, SolveOptions options, ProgressListener listener, LongSupplier nanoClock) {
        long start = nanoClock.getAsLong();
        // Where a node forbids all, nothing is summed.
        long floor = hasStrategies(problem) ? requireSums(problem) : 0;
        // The answer itself takes time: decoding, scoring, writing.
        long answering = Math.max(
                Math.min(options.timeoutNanos() / 20, 300_000_000L),
                Math.min(options.timeoutNanos() / 10, 2000L * (problem.nodeCount() + problem.edgeCount())));
        long end = start + options.timeoutNanos() - answering;
        Reducer.Result reduced;
        try {
            long reducedBy = start + (end - start) / 10 * 7;
            reduced = Reducer.reduce(
                    problem, options.without(), new Budget(reducedBy, nanoClock, SolveOptions.UNLIMITED_WORK));
        } catch (Budget.Late | OutOfMemoryError e) {
            return quick(problem, floor, start, nanoClock, listener, e instanceof OutOfMemoryError);
        }
        Core core = reduced.core();
        if (core == null) {
            String explanation = Infeasibility.explanation(problem, new Budget(end, nanoClock, options.workLimit()));
            return new Solution(
                    Status.INFEASIBLE,
                    List.of(),
                    Long.MAX_VALUE,
                    0,
                    0,
                    problem.usageLimit(),
                    (nanoClock.getAsLong() - start) / 1e9,
                    List.of(),
                    explanation,
                    false);
        }
        Incumbent incumbent = new Incumbent(core, start, nanoClock, listener);
        Budget budget = new Budget(end, nanoClock, options.workLimit());
        Search search = new Search(core, incumbent, options, budget);
        search.run();
        if (incumbent.best() == null && !search.provenInfeasible()) {
            Solution quick = quick(problem, floor, start, nanoClock, listener, search.memoryEnded());
            if (quick.hasChoices()) {
                return quick;
            }
        }
        String explanation = incumbent.best() != null
                ? ""
                : search.provenInfeasible()
                        ? Infeasibility.explanation(problem, budget)
                        : search.explanation(problem.usageLimit());
        return answer(problem, floor, incumbent, search, explanation, start, nanoClock);
    }

    /** A choice without any search, with the sum of the least costs as the bound; unknown if none is found. */
    private static Solution quick(
            StrategyProblem problem,
            long floor,
            long start,
            LongSupplier nanoClock,
            ProgressListener listener,
            boolean memoryEnded) {
        QuickChoice.Found found = QuickChoice.find(problem);
        double seconds = (nanoClock.getAsLong() - start) / 1e9;
        if (found == null) {
            return new Solution(
                    Status.UNKNOWN,
                    List.of(),
                    Long.MAX_VALUE,
                    floor,
                    0,
                    problem.usageLimit(),
                    seconds,
                    List.of(),
                    "The " + (memoryEnded ? "memory" : "time")
                            + " ended before the reductions did, and no choice that fits was found without them.",
                    memoryEnded);
        }
        Evaluator.Evaluation score = found.score();
        Improvement step = new Improvement(seconds, cost(problem, score), floor, "quick");
        listener.improved(step);
        return new Solution(
                step.objective() == floor ? Status.OPTIMAL : Status.FEASIBLE,
                found.choices(),
                step.objective(),
                floor,
                score.peakUsage().min(BigInteger.valueOf(Long.MAX_VALUE)).longValue(),
                problem.usageLimit(),
                seconds,
                List.of(step),
                "",
                memoryEnded);
    }

    private static long cost(StrategyProblem problem, Evaluator.Evaluation score) {
        if (score.cost().bitLength() > 62) {
            throw new SolverInputException("The cost (" + score.cost() + ") of the best choice found for problem ("
                    + problem.name() + ") must stay below 2^62.\nMaybe count costs in a larger unit.");
        }
        return score.cost().longValueExact();
    }

    /**
     * The sums of the largest usages that the limit allows and of the least costs must be numbers of 62 bits, or no answer could be told.
     *
     * @return the sum of the least costs, below which no choice is
     */
    private static long requireSums(StrategyProblem problem) {
        double cost = 0;
        long exact = 0;
        for (int node = 0; node < problem.nodeCount(); node++) {
            long least = leastAllowed(problem.costs(node));
            cost += least;
            exact += least;
        }
        long[] leastByMatrix = new long[problem.matrixCount()];
        for (int number = 0; number < leastByMatrix.length; number++) {
            leastByMatrix[number] = leastAllowed(problem.matrix(number));
        }
        for (int edge = 0; edge < problem.edgeCount(); edge++) {
            long least = leastByMatrix[problem.matrixNumber(edge)];
            cost += least;
            exact += least;
        }
        requireSum(
                problem,
                "largest usages",
                problem.usageLimit() == StrategyProblem.UNLIMITED ? 0 : problem.largestUsage());
        requireSum(problem, "least costs", cost);
        return exact;
    }

    /** The least cost that is not forbidden, 0 if all are. */
    private static long leastAllowed(long[] costs) {
        long least = StrategyProblem.FORBIDDEN;
        for (long cost : costs) {
            least = Math.min(least, cost);
        }
        return least < StrategyProblem.FORBIDDEN ? least : 0;
    }

    private static boolean hasStrategies(StrategyProblem problem) {
        for (int node = 0; node < problem.nodeCount(); node++) {
            if (Arrays.stream(problem.costs(node)).noneMatch(cost -> cost < StrategyProblem.FORBIDDEN)) {
                return false;
            }
        }
        return true;
    }

    private static void requireSum(StrategyProblem problem, String what, double sum) {
        if (sum >= StrategyProblem.LARGEST_SUM) {
            throw new SolverInputException("The sum of the " + what + " (about " + sum + ") of problem ("
                    + problem.name() + ") must stay below 2^62.\nMaybe count them in a larger unit.");
        }
    }

    private static Solution answer(
            StrategyProblem problem,
            long floor,
            Incumbent incumbent,
            Search search,
            String explanation,
            long start,
            LongSupplier nanoClock) {
        int[] best = incumbent.best();
        if (best == null) {
            boolean proven = search.provenInfeasible();
            return new Solution(
                    proven ? Status.INFEASIBLE : Status.UNKNOWN,
                    List.of(),
                    Long.MAX_VALUE,
                    Math.max(floor, (long) incumbent.bound()),
                    0,
                    problem.usageLimit(),
                    (nanoClock.getAsLong() - start) / 1e9,
                    incumbent.improvements(),
                    explanation,
                    search.memoryEnded());
        }
        List<Integer> choices = incumbent.core().expand(best);
        Evaluator.Evaluation score = Evaluator.evaluate(problem, choices);
        if (!score.feasible()) {
            throw new IllegalStateException("The solver's choice for problem (" + problem.name()
                    + ") must be feasible, but " + String.join("; ", score.problems()));
        }
        long objective = cost(problem, score);
        long bound = (long) Math.min(incumbent.bound(), (double) objective);
        boolean proven = incumbent.bound() >= incumbent.cost();
        if (objective > EXACT) {
            // The search adds doubles: here they may be wrong by the last digits, so nothing is proven to the last
            // digit.
            proven = false;
            bound = Math.min(bound, objective) - (long) ((double) objective * ROUNDING);
        } else if (proven) {
            bound = objective;
        }
        bound = Math.max(bound, floor);
        return new Solution(
                proven ? Status.OPTIMAL : Status.FEASIBLE,
                choices,
                objective,
                bound,
                score.peakUsage().min(BigInteger.valueOf(Long.MAX_VALUE)).longValue(),
                problem.usageLimit(),
                (nanoClock.getAsLong() - start) / 1e9,
                incumbent.improvements(),
                explanation,
                search.memoryEnded());
    }

    /** Whether a technique is in use. */
    static boolean uses(SolveOptions options, Technique technique) {
        return !options.without().contains(technique);
    }
}
