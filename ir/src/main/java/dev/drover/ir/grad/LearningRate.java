package dev.drover.ir.grad;

import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.OpBuilder;
import dev.drover.ir.type.DType;
import org.jspecify.annotations.Nullable;

/**
 * A learning rate that rises over the warm-up, then falls along half a cosine, then stays at its floor:
 *
 * <pre>
 *   rate(t) = peak * min(1, (t + 1) / warmupSteps) * (floor + (1 - floor) * (1 + cos(pi * p)) / 2)
 *   p       = clamp((t - warmupSteps) / decaySteps, 0, 1)          t = steps done, from 0
 * </pre>
 *
 * @param peak the highest rate
 * @param warmupSteps 0 for none
 * @param decaySteps 0 for none
 * @param floor the last rate as a part of the highest
 */
public record LearningRate(double peak, int warmupSteps, int decaySteps, double floor) {

    public LearningRate {
        if (!(peak >= 0) || warmupSteps < 0 || decaySteps < 0 || !(floor >= 0 && floor <= 1)) {
            throw new IllegalArgumentException("The learning rate (peak " + peak + ", warm-up " + warmupSteps
                    + ", decay " + decaySteps + ", floor " + floor + ") must not be negative, nor its floor above 1.");
        }
    }

    public static LearningRate constant(double rate) {
        return new LearningRate(rate, 0, 0, 1);
    }

    /** Whether it changes from step to step. */
    public boolean usesStep() {
        return warmupSteps > 0 || decaySteps > 0;
    }

    /**
     * The rate as a scalar.
     *
     * @param stepsDone a scalar of the same type, from 0; may be null if {@link #usesStep} is false
     */
    Instruction at(OpBuilder ops, DType dtype, @Nullable Instruction stepsDone) {
        Instruction rate = ops.constant(dtype, peak);
        if (!usesStep()) {
            return rate;
        }
        if (stepsDone == null) {
            throw new IllegalArgumentException("The learning rate (" + this + ") must know the step.");
        }
        Instruction one = ops.constant(dtype, 1);
        if (warmupSteps > 0) {
            Instruction part = ops.mul(ops.add(stepsDone, one), ops.constant(dtype, 1.0 / warmupSteps));
            rate = ops.mul(rate, ops.min(one, part));
        }
        if (decaySteps > 0) {
            Instruction progress = ops.mul(
                    ops.sub(stepsDone, ops.constant(dtype, warmupSteps)), ops.constant(dtype, 1.0 / decaySteps));
            Instruction within = ops.min(one, ops.max(ops.constant(dtype, 0), progress));
            Instruction cosine = ops.cos(ops.mul(within, ops.constant(dtype, Math.PI)));
            Instruction factor = ops.add(
                    ops.mul(cosine, ops.constant(dtype, (1 - floor) / 2)), ops.constant(dtype, (1 + floor) / 2));
            rate = ops.mul(rate, factor);
        }
        return rate;
    }
}
