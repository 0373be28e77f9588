package dev.drover.ir.pass;

import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.ComputationBuilder;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.Call;
import dev.drover.ir.ops.Fusion;
import dev.drover.ir.ops.Op;
import dev.drover.ir.ops.Parameter;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Puts the instructions of called computations in the place of their calls (of {@code call} and {@code fusion}; loops and branches stay).
 *
 * <pre>
 *   before   f { p = parameter(0), ROOT q = exp(p) }   ENTRY { a = parameter(0), ROOT b = call(a), to_apply=f }
 *   after    ENTRY { a = parameter(0), ROOT q = exp(a) }
 * </pre>
 */
public final class Inlining {
    private Inlining() {}

    /** Appends the instructions of a computation, arguments in the place of its parameters. Yields its root's copy. */
    public static Instruction append(ComputationBuilder builder, Computation computation, List<Instruction> arguments) {
        @Nullable Instruction[] copies = new @Nullable Instruction[computation.size()];
        for (Instruction self : computation.instructions()) {
            if (self.op() instanceof Parameter parameter) {
                copies[self.id()] = arguments.get(parameter.number());
                continue;
            }
            List<Instruction> operands = new ArrayList<>();
            for (Instruction operand : self.operands()) {
                operands.add(copyOf(copies, operand));
            }
            Computation body = body(self.op());
            copies[self.id()] = body == null
                    ? builder.add(self.op(), operands, self.name(), self.annotations())
                    : append(builder, body, operands);
        }
        return copyOf(copies, computation.root());
    }

    /** What a {@code call} or {@code fusion} calls; null for other ops. */
    static @Nullable Computation body(Op op) {
        if (op instanceof Call call) {
            return call.computation();
        }
        return op instanceof Fusion fusion ? fusion.computation() : null;
    }

    private static Instruction copyOf(@Nullable Instruction[] copies, Instruction original) {
        Instruction copy = copies[original.id()];
        if (copy == null) {
            throw new IllegalStateException("The instruction (" + original.name() + ") must have been copied.");
        }
        return copy;
    }
}
