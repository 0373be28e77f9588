package dev.drover.solver;

import java.util.Set;

/**
 * How to solve.
 *
 * @param timeoutNanos wall-clock time that the solve may take, above 0; it ends earlier when the optimum is proven
 * @param threads working threads, at least 1
 * @param seed of all random choices
 * @param targetGap end when (objective - lowerBound) / objective is not above this; 0 for a full proof
 * @param without techniques to leave out, for experiments; normally empty
 * @param workLimit units of work after which the solve ends, {@link #UNLIMITED_WORK} for none. A unit is one entry of a table read or
 *     made, about three nanoseconds of one core. With a limit one thread works, and the same problem and options get the same answer
 *     on every machine, unless the timeout ends the solve first
 */
public record SolveOptions(
        long timeoutNanos, int threads, long seed, double targetGap, Set<Technique> without, long workLimit) {
    /** The work limit of options without one. */
    public static final long UNLIMITED_WORK = Long.MAX_VALUE;

    /** Parts of the solver that can be left out to see what each is worth. */
    public enum Technique {
        /** Drop values that another value beats for every choice of the neighbours. */
        DOMINANCE,
        /** Join nodes whose strategies determine each other. */
        MERGE,
        /** Eliminate variables of one or two neighbours. */
        CONDENSE,
        /** Drop values that the bound shows to be in no choice cheaper than the best. */
        CUTS,
        /** Solve with the few usage rows that matter, as long as the others are kept. */
        FEW_ROWS,
        /** Search all of a narrow core with the usage as resources. */
        LABELS,
        /** Search all of a neighbourhood, beyond the choice that the prices suggest. */
        ENUMERATION,
        /** Improve by neighbourhoods at all. */
        NEIGHBOURHOODS,
        /** Draw regions anew when nothing else gains. */
        KICKS,
        /** Solve for the variables at which two good choices differ. */
        CROSSING
    }

    /** Checks the values. */
    public SolveOptions {
        if (timeoutNanos <= 0) {
            throw new SolverInputException("The timeout (" + timeoutNanos
                    + " ns) of the solve options must be above 0.\nMaybe give at least one second.");
        }
        if (threads < 1) {
            throw new SolverInputException("The thread count (" + threads
                    + ") of the solve options must be at least 1.\nMaybe give the number of cores.");
        }
        if (!(targetGap >= 0 && targetGap < 1)) {
            throw new SolverInputException("The target gap (" + targetGap
                    + ") of the solve options must be at least 0 and below 1.\nMaybe give 0.01 for one percent.");
        }
        if (workLimit <= 0) {
            throw new SolverInputException("The work limit (" + workLimit
                    + ") of the solve options must be above 0.\nMaybe give 300000000 for about a second.");
        }
        without = Set.copyOf(without);
    }

    /** Returns options with this timeout, two threads, seed 1 and a full proof as the target. */
    public static SolveOptions ofSeconds(double seconds) {
        return new SolveOptions((long) (seconds * 1e9), 2, 1, 0, Set.of(), UNLIMITED_WORK);
    }

    /** Returns the same options with other threads. */
    public SolveOptions withThreads(int newThreads) {
        return new SolveOptions(timeoutNanos, newThreads, seed, targetGap, without, workLimit);
    }

    /** Returns the same options with another seed. */
    public SolveOptions withSeed(long newSeed) {
        return new SolveOptions(timeoutNanos, threads, newSeed, targetGap, without, workLimit);
    }

    /** Returns the same options with another target gap, such as 0.01 for one percent. */
    public SolveOptions withTargetGap(double newTargetGap) {
        return new SolveOptions(timeoutNanos, threads, seed, newTargetGap, without, workLimit);
    }

    /** Returns the same options without some techniques. */
    public SolveOptions leavingOut(Set<Technique> techniques) {
        return new SolveOptions(timeoutNanos, threads, seed, targetGap, techniques, workLimit);
    }

    /**
     * Returns the same options with a limit of work, so that the same problem gets the same answer on every machine.
     *
     * @param units of about three nanoseconds each, above 0
     */
    public SolveOptions withWorkLimit(long units) {
        return new SolveOptions(timeoutNanos, threads, seed, targetGap, without, units);
    }
}
