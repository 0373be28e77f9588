package dev.drover.ir.grad;

import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.OpBuilder;
import dev.drover.ir.type.DType;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** How parameters follow their gradients, as a builder of graphs. */
public interface Optimizer {

    /** Names of the tensors that are kept for each parameter, each of its shape and zero at first. */
    List<String> stateNames();

    /** Whether it needs to know the number of the step. */
    boolean usesStep();

    /**
     * Appends what all parameters share.
     *
     * @param ops appends
     * @param dtype type of the arithmetic: of all values given and made
     * @param rate the learning rate, a scalar
     * @param stepsDone a scalar, from 0; may be null if {@link #usesStep} is false
     */
    Rule prepare(OpBuilder ops, DType dtype, Instruction rate, @Nullable Instruction stepsDone);

    /** Appends the update of one parameter. */
    @FunctionalInterface
    interface Rule {
        Update update(Instruction parameter, Instruction gradient, List<Instruction> state);
    }

    /** The next value of a parameter and its state. */
    record Update(Instruction parameter, List<Instruction> state) {
        public Update {
            state = List.copyOf(state);
        }
    }
}
