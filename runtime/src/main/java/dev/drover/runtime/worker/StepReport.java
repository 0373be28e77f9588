package dev.drover.runtime.worker;

import java.util.List;
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

    /** Time of a step: that of its slowest worker. */
    public static long slowestNanos(List<StepReport> workers) {
        return workers.stream().mapToLong(StepReport::elapsedNanos).max().orElse(0);
    }

    /** Processor time of a step, of all workers together. */
    public static long totalProcessorNanos(List<StepReport> workers) {
        return workers.stream().mapToLong(StepReport::processorNanos).sum();
    }
}
