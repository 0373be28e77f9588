package dev.drover.planner.spmd;

import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.Tuple;
import dev.drover.plan.sharding.Source;
import java.util.ArrayList;
import java.util.List;

/**
 * What the choice of shardings starts from.
 *
 * @param flat a flat computation
 * @param stages by instruction id: the stage that computes it
 * @param repeats by instruction id: how often in a step (micro-batches, or 1)
 * @param copies by instruction id: copies of its result in flight at most (1F1B: min(M, S - s) for what the backward pass uses)
 * @param updatedParameters by output: the parameter that it updates, or -1
 * @param memoryLimitBytes that the values of a device may take at any time
 */
public record SpmdInput(
        Computation flat,
        List<Integer> stages,
        List<Long> repeats,
        List<Long> copies,
        List<Integer> updatedParameters,
        long memoryLimitBytes) {

    /** One stage, one micro-batch. */
    public static SpmdInput plain(Computation flat, List<Integer> updatedParameters, long memoryLimitBytes) {
        int n = flat.size();
        return new SpmdInput(
                flat,
                java.util.Collections.nCopies(n, 0),
                java.util.Collections.nCopies(n, 1L),
                java.util.Collections.nCopies(n, 1L),
                updatedParameters,
                memoryLimitBytes);
    }

    int stage(Instruction instruction) {
        return stages.get(instruction.id());
    }

    long repeats(Instruction instruction) {
        return repeats.get(instruction.id());
    }

    int updatedParameter(int output) {
        return updatedParameters.get(output);
    }

    /** Outputs that update nothing and are made by an instruction (or a leaf of it). */
    List<Integer> freeOutputsOf(Instruction producer) {
        List<Integer> out = new ArrayList<>();
        List<Instruction> values = outputs();
        for (int i = 0; i < values.size(); i++) {
            Instruction value = values.get(i);
            if (updatedParameters.get(i) < 0 && Source.of(value).producer() == producer) {
                out.add(i);
            }
        }
        return out;
    }

    List<Instruction> outputs() {
        return flat.root().op() instanceof Tuple ? flat.root().operands() : List.of(flat.root());
    }
}
