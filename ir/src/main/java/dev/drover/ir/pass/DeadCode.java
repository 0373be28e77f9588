package dev.drover.ir.pass;

import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.ComputationBuilder;
import dev.drover.ir.graph.Graph;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.Parameter;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Drops the instructions of the entry computation that neither its root nor a side effect needs. Parameters stay.
 *
 * <pre>
 *   before   a = parameter(0), b = exp(a), c = sin(a), ROOT d = tuple(b)
 *   after    a = parameter(0), b = exp(a), ROOT d = tuple(b)
 * </pre>
 */
public final class DeadCode {
    private DeadCode() {}

    /** The graph without them; the same graph if there are none. */
    public static Graph drop(Graph graph) {
        Computation entry = drop(graph.entry());
        return entry == graph.entry() ? graph : new Graph(graph.name(), entry, graph.aliases(), graph.attributes());
    }

    /** The computation without them; the same computation if there are none. */
    public static Computation drop(Computation computation) {
        boolean[] needed = new boolean[computation.size()];
        int dropped = computation.size();
        for (int id = computation.size() - 1; id >= 0; id--) {
            Instruction self = computation.instructions().get(id);
            needed[id] |= self == computation.root()
                    || self.op() instanceof Parameter
                    || self.op().hasSideEffect();
            if (needed[id]) {
                dropped--;
                self.operands().forEach(operand -> needed[operand.id()] = true);
            }
        }
        if (dropped == 0) {
            return computation;
        }
        ComputationBuilder builder = new ComputationBuilder(computation.name());
        @Nullable Instruction[] copies = new @Nullable Instruction[computation.size()];
        for (Instruction self : computation.instructions()) {
            if (needed[self.id()]) {
                List<Instruction> operands =
                        self.operands().stream().map(o -> copyOf(copies, o)).toList();
                copies[self.id()] = builder.add(self.op(), operands, self.name(), self.annotations());
            }
        }
        return builder.build(copyOf(copies, computation.root()));
    }

    private static Instruction copyOf(@Nullable Instruction[] copies, Instruction original) {
        Instruction copy = copies[original.id()];
        if (copy == null) {
            throw new IllegalStateException("The instruction (" + original.name() + ") must have been copied.");
        }
        return copy;
    }
}
