package dev.drover.solver;

import java.util.List;

/**
 * The answer to a {@link StrategyProblem}.
 *
 * @param status what is known
 * @param choices one strategy per node, empty unless there is a feasible one
 * @param objective its cost, {@link Long#MAX_VALUE} if there is none
 * @param lowerBound no feasible choice costs less; of no meaning for {@link Status#INFEASIBLE}
 * @param peakUsage greatest usage at any time of the choice, 0 if there is none
 * @param usageLimit of the problem, {@link StrategyProblem#UNLIMITED} ({@link Long#MAX_VALUE}) if it has none
 * @param seconds wall-clock time of the solve
 * @param improvements all progress, in order
 * @param explanation why there is no choice, empty if there is one
 * @param memoryEnded whether the memory of the heap ended before the time did: the answer is what was found until then
 */
public record Solution(
        Status status,
        List<Integer> choices,
        long objective,
        long lowerBound,
        long peakUsage,
        long usageLimit,
        double seconds,
        List<Improvement> improvements,
        String explanation,
        boolean memoryEnded) {
    /** What is known about the problem. */
    public enum Status {
        /** The choice is feasible and proven to be the best. */
        OPTIMAL,
        /** The choice is feasible; the gap says how far from the best it can be. */
        FEASIBLE,
        /** Proven: there is no feasible choice. The explanation says why. */
        INFEASIBLE,
        /** The time ended before a feasible choice was found, which may exist. */
        UNKNOWN
    }

    /** Copies the lists. */
    public Solution {
        choices = List.copyOf(choices);
        improvements = List.copyOf(improvements);
    }

    /** Returns whether there is a feasible choice. */
    public boolean hasChoices() {
        return status == Status.OPTIMAL || status == Status.FEASIBLE;
    }

    /** Returns (objective - lowerBound) / objective, 0 for a proven optimum, 1 without any choice. */
    public double gap() {
        if (!hasChoices()) {
            return 1;
        }
        return objective <= lowerBound ? 0 : (double) (objective - lowerBound) / objective;
    }
}
