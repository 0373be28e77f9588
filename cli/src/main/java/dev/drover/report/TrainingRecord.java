package dev.drover.report;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a training run measured. Steps are counted from the first one of the state, those before a resumption too.
 *
 * @param resumedFrom the checkpoint that it went on from; null if it began anew
 * @param firstStep number of the first of these steps: 1, or one more than the steps of the checkpoint
 * @param losses by step; none where no output is known to be the loss
 * @param stepMillis by step, the slowest worker's
 * @param perSecond {@code unit}s a second at the median step
 * @param predictedStepMillis NaN where the plan was made for other machines
 * @param peakBytes by rank: the most memory that a worker's tensors took
 */
public record TrainingRecord(
        String model,
        @Nullable String resumedFrom,
        long firstStep,
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

    public long lastStep() {
        return firstStep + stepMillis.size() - 1;
    }

    /** Such as {@code 20 steps}, or {@code steps 21 to 40 (resumed from state/step-000000020)}. */
    public String stepsText() {
        return resumedFrom == null
                ? stepMillis.size() + (stepMillis.size() == 1 ? " step" : " steps")
                : "steps " + firstStep + " to " + lastStep() + " (resumed from " + resumedFrom + ")";
    }
}
