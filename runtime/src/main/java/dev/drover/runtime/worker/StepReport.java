package dev.drover.runtime.worker;

import java.util.Map;

/**
 * One step of one worker.
 *
 * @param processorNanos that the worker's compute lane had a processor; less than {@code elapsedNanos} by what it waited
 * @param peakBytes the most bytes of tensors and programs that were in use at once so far
 * @param scalars values that the program names, such as the loss; empty where the worker owns none
 */
public record StepReport(
        long step, long elapsedNanos, long processorNanos, long peakBytes, Map<String, Double> scalars) {
    public StepReport {
        scalars = Map.copyOf(scalars);
    }
}
