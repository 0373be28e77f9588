package dev.drover.plan.sim;

/**
 * How one device spends a step: the four parts add up to the step.
 *
 * @param collectiveNanos in collectives that are not hidden by computing
 * @param pointToPointNanos computing waits for a transfer that runs
 * @param bubbleNanos computing waits for anything else
 */
public record DeviceTime(
        int rank, double computeNanos, double collectiveNanos, double pointToPointNanos, double bubbleNanos) {}
