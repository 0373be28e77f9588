package dev.drover.plan.sim;

/**
 * How one device spends a step: computing, collectives, point to point and bubble add up to the step.
 *
 * @param collectiveNanos in collectives that are not hidden by computing
 * @param pointToPointNanos computing waits for a transfer that runs
 * @param processorNanos of a processor of its own that its computing needs, and its part in collectives
 * @param bubbleNanos computing waits for anything else
 */
public record DeviceTime(
        int rank,
        double computeNanos,
        double collectiveNanos,
        double pointToPointNanos,
        double bubbleNanos,
        double processorNanos) {}
