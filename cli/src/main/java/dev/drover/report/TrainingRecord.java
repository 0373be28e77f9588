package dev.drover.report;

import java.util.List;

/**
 * What a training run measured.
 *
 * @param stepMillis by step, the slowest worker's
 * @param perSecond {@code unit}s a second at the median step
 * @param predictedStepMillis NaN where the plan was made for other machines
 * @param peakBytes by rank: the most memory that a worker's tensors took
 */
public record TrainingRecord(
        String model,
        List<Double> losses,
        List<Double> stepMillis,
        double medianStepMillis,
        double perSecond,
        String unit,
        double predictedStepMillis,
        List<Long> peakBytes) {
    public TrainingRecord {
        losses = List.copyOf(losses);
        stepMillis = List.copyOf(stepMillis);
        peakBytes = List.copyOf(peakBytes);
    }
}
