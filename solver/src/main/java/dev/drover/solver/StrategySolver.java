package dev.drover.solver;

import dev.drover.solver.Solution.Status;
import dev.drover.solver.SolveOptions.Technique;
import java.math.BigInteger;
import java.util.List;
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
    private StrategySolver() {}

    /**
     * Finds the best choice that it can until the timeout or a proof ends it.
     *
     * @param problem what to solve
     * @param options time, threads, seed
     * @param listener told of each improvement
     * @return the choice, re-scored by {@link Evaluator}, with a lower bound; or why there is none
     */
    public static Solution solve(StrategyProblem problem, SolveOptions options, ProgressListener listener) {
        return solve(problem, options, listener, System::nanoTime);
    }

    /** Solves by another clock, such as the processor time, for measurements on a loaded machine. */
    static Solution solve(
            StrategyProblem problem, SolveOptions options, ProgressListener listener, LongSupplier nanoClock) {
        long start = nanoClock.getAsLong();
        Reducer.Result reduced = Reducer.reduce(problem, options.without());
        Core core = reduced.core();
        if (core == null) {
            return new Solution(
                    Status.INFEASIBLE,
                    List.of(),
                    Long.MAX_VALUE,
                    0,
                    0,
                    problem.usageLimit(),
                    (nanoClock.getAsLong() - start) / 1e9,
                    List.of(),
                    reduced.contradiction());
        }
        Incumbent incumbent = new Incumbent(core, start, nanoClock, listener);
        // The answer itself takes time: decoding, scoring, writing.
        long end = start + options.timeoutNanos() - Math.min(options.timeoutNanos() / 20, 300_000_000L);
        Search search = new Search(core, incumbent, options, new Budget(end, nanoClock, options.workLimit()));
        search.run();
        return answer(problem, incumbent, search, start, nanoClock);
    }

    private static Solution answer(
            StrategyProblem problem, Incumbent incumbent, Search search, long start, LongSupplier nanoClock) {
        int[] best = incumbent.best();
        if (best == null) {
            boolean proven = search.provenInfeasible();
            return new Solution(
                    proven ? Status.INFEASIBLE : Status.UNKNOWN,
                    List.of(),
                    Long.MAX_VALUE,
                    (long) incumbent.bound(),
                    0,
                    problem.usageLimit(),
                    (nanoClock.getAsLong() - start) / 1e9,
                    incumbent.improvements(),
                    search.explanation());
        }
        List<Integer> choices = incumbent.core().expand(best);
        Evaluator.Evaluation score = Evaluator.evaluate(problem, choices);
        if (!score.feasible()) {
            throw new IllegalStateException("The solver's choice for problem (" + problem.name()
                    + ") must be feasible, but " + String.join("; ", score.problems()));
        }
        long objective = score.cost().min(BigInteger.valueOf(Long.MAX_VALUE)).longValue();
        long bound = (long) Math.min(incumbent.bound(), (double) Long.MAX_VALUE);
        boolean proven = incumbent.bound() >= incumbent.cost();
        if (proven || bound > objective) {
            bound = objective;
        }
        return new Solution(
                proven ? Status.OPTIMAL : Status.FEASIBLE,
                choices,
                objective,
                bound,
                score.peakUsage().min(BigInteger.valueOf(Long.MAX_VALUE)).longValue(),
                problem.usageLimit(),
                (nanoClock.getAsLong() - start) / 1e9,
                incumbent.improvements(),
                "");
    }

    /** Whether a technique is in use. */
    static boolean uses(SolveOptions options, Technique technique) {
        return !options.without().contains(technique);
    }
}
