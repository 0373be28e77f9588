package dev.drover.ir.grad;

import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.OpBuilder;
import dev.drover.ir.type.DType;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Adam (Kingma and Ba, ICLR 2015), and AdamW (Loshchilov and Hutter, ICLR 2019) if weight decay is not 0:
 *
 * <pre>
 *   m' = beta1 * m + (1 - beta1) * g              v' = beta2 * v + (1 - beta2) * g^2
 *   p' = p - rate * (weightDecay * p + (m' / (1 - beta1^t)) / (sqrt(v' / (1 - beta2^t)) + epsilon))      t from 1
 * </pre>
 *
 * The bias corrections are folded into two scalars per step, so that each parameter needs no pass for them:
 * {@code m' / (sqrt(v') + epsilon * c) * (rate * c / (1 - beta1^t))} with {@code c = sqrt(1 - beta2^t)}.
 */
public record Adam(double beta1, double beta2, double epsilon, double weightDecay) implements Optimizer {

    /** With the customary constants, and without weight decay. */
    public static Adam customary() {
        return new Adam(0.9, 0.999, 1e-8, 0);
    }

    public Adam {
        if (!(beta1 >= 0 && beta1 < 1 && beta2 >= 0 && beta2 < 1) || !(epsilon >= 0) || !(weightDecay >= 0)) {
            throw new IllegalArgumentException("The betas (" + beta1 + ", " + beta2
                    + ") of Adam must lie in [0, 1), epsilon (" + epsilon + ") and weight decay (" + weightDecay
                    + ") be at least 0.");
        }
    }

    @Override
    public List<String> stateNames() {
        return List.of("m", "v");
    }

    @Override
    public boolean usesStep() {
        return true;
    }

    @Override
    public Rule prepare(OpBuilder ops, DType dtype, Instruction rate, @Nullable Instruction stepsDone) {
        if (stepsDone == null) {
            throw new IllegalArgumentException("The optimizer (" + this + ") must know the step.");
        }
        Instruction one = ops.constant(dtype, 1);
        Instruction step = ops.add(stepsDone, one);
        Instruction correction1 = ops.sub(one, ops.pow(ops.constant(dtype, beta1), step));
        Instruction correction2 = ops.sqrt(ops.sub(one, ops.pow(ops.constant(dtype, beta2), step)));
        Instruction stepSize = ops.div(ops.mul(rate, correction2), correction1);
        Instruction stabilizer = ops.mul(correction2, ops.constant(dtype, epsilon));
        Instruction keep = weightDecay == 0 ? one : ops.sub(one, ops.mul(rate, ops.constant(dtype, weightDecay)));
        return (parameter, gradient, state) -> {
            Instruction m = ops.add(ops.mul(state.get(0), beta1), ops.mul(gradient, 1 - beta1));
            Instruction v = ops.add(ops.mul(state.get(1), beta2), ops.mul(ops.mul(gradient, gradient), 1 - beta2));
            Instruction denominator = ops.add(ops.sqrt(v), ops.broadcastTo(stabilizer, parameter.array()));
            Instruction change = ops.mul(ops.div(m, denominator), stepSize);
            Instruction kept = weightDecay == 0 ? parameter : ops.mul(parameter, keep);
            return new Update(ops.sub(kept, change), List.of(m, v));
        };
    }
}
