package dev.drover.ir.grad;

import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.OpBuilder;
import dev.drover.ir.type.DType;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Gradient descent, with momentum if that is not 0:
 *
 * <pre>
 *   g' = g + weightDecay * p
 *   m' = momentum * m + g'
 *   p' = p - rate * (nesterov ? g' + momentum * m' : m')
 * </pre>
 */
public record Sgd(double momentum, boolean nesterov, double weightDecay) implements Optimizer {

    /** Without momentum. */
    public static Sgd plain() {
        return new Sgd(0, false, 0);
    }

    public Sgd {
        if (!(momentum >= 0 && momentum < 1) || !(weightDecay >= 0) || (nesterov && momentum == 0)) {
            throw new IllegalArgumentException("The momentum (" + momentum + ", nesterov " + nesterov
                    + ") must lie in [0, 1), above 0 for Nesterov's form, and the weight decay (" + weightDecay
                    + ") be at least 0.");
        }
    }

    @Override
    public List<String> stateNames() {
        return momentum == 0 ? List.of() : List.of("momentum");
    }

    @Override
    public boolean usesStep() {
        return false;
    }

    @Override
    public Rule prepare(OpBuilder ops, DType dtype, Instruction rate, @Nullable Instruction stepsDone) {
        return (parameter, gradient, state) -> {
            Instruction direction = weightDecay == 0 ? gradient : ops.add(gradient, ops.mul(parameter, weightDecay));
            List<Instruction> nextState = List.of();
            if (momentum != 0) {
                Instruction next = ops.add(ops.mul(state.get(0), momentum), direction);
                nextState = List.of(next);
                direction = nesterov ? ops.add(direction, ops.mul(next, momentum)) : next;
            }
            return new Update(ops.sub(parameter, ops.mul(direction, rate)), nextState);
        };
    }
}
