package dev.drover.solver;

/**
 * One step of progress.
 *
 * @param seconds since the solve began
 * @param objective cost of the best choice found so far, {@link Long#MAX_VALUE} if there is none yet
 * @param lowerBound proven so far; no choice within the limit costs less
 * @param phase the part of the solver that made it
 */
public record Improvement(double seconds, long objective, long lowerBound, String phase) {}
