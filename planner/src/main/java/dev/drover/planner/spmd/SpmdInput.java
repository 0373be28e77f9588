package dev.drover.planner.spmd;

import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.Tuple;
import dev.drover.plan.stage.Phase;
import java.util.List;

/**
 * What the choice of shardings starts from.
 *
 * @param flat a flat computation
 * @param stages by instruction id: the stage that computes it
 * @param phases by instruction id: the part of a step in which it is computed
 * @param repeats by instruction id: how often in a step (micro-batches, or 1)
 * @param copies by instruction id: copies of its result in flight at most (1F1B: min(M, S - s) for what the backward pass uses)
 * @param updatedParameters by output: the parameter that it updates, or -1
 */
public record SpmdInput(
        Computation flat,
        List<Integer> stages,
        List<Phase> phases,
        List<Long> repeats,
        List<Long> copies,
        List<Integer> updatedParameters) {

    int stage(Instruction instruction) {
        return stages.get(instruction.id());
    }

    Phase phase(Instruction instruction) {
        return phases.get(instruction.id());
    }

    long repeats(Instruction instruction) {
        return repeats.get(instruction.id());
    }

    int updatedParameter(int output) {
        return updatedParameters.get(output);
    }

    List<Instruction> outputs() {
        return flat.root().op() instanceof Tuple ? flat.root().operands() : List.of(flat.root());
    }
}
