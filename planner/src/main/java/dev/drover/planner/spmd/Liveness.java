package dev.drover.planner.spmd;

import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.Parameter;
import dev.drover.ir.ops.Tuple;
import dev.drover.plan.sharding.Source;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * From when to when results take memory, as positions in the computation. Inputs live throughout; an updated state takes its
 * parameter's place, so it counts only where it is made.
 */
final class Liveness {
    private final SpmdInput input;
    private final int[] lastUse;
    private final Set<Integer> updates = new HashSet<>();

    private Liveness(SpmdInput input) {
        this.input = input;
        this.lastUse = new int[input.flat().size()];
    }

    static Liveness of(SpmdInput input) {
        Liveness liveness = new Liveness(input);
        List<Instruction> instructions = input.flat().instructions();
        for (int id = instructions.size() - 1; id >= 0; id--) {
            Instruction user = instructions.get(id);
            if (user == input.flat().root() && user.op() instanceof Tuple) {
                continue;
            }
            // What is seen through a tuple is alive as long as what it is seen as.
            int end = Source.isWiring(user) ? Math.max(liveness.lastUse[id], id) : id;
            for (Instruction operand : user.operands()) {
                liveness.lastUse[operand.id()] = Math.max(liveness.lastUse[operand.id()], end);
            }
        }
        List<Instruction> outputs = input.outputs();
        for (int i = 0; i < outputs.size(); i++) {
            Instruction output = outputs.get(i);
            if (input.updatedParameter(i) >= 0) {
                liveness.updates.add(output.id());
            } else {
                liveness.lastUse[output.id()] = instructions.size();
            }
        }
        return liveness;
    }

    long start(Instruction instruction) {
        return instruction.op() instanceof Parameter ? 0 : instruction.id();
    }

    long end(Instruction instruction) {
        if (instruction.op() instanceof Parameter) {
            return lastUse.length;
        }
        if (updates.contains(instruction.id())) {
            return instruction.id() + 1L;
        }
        return Math.max(lastUse[instruction.id()], instruction.id()) + 1L;
    }

    long copies(Instruction instruction) {
        return input.copies().get(instruction.id());
    }
}
