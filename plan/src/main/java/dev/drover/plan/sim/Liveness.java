package dev.drover.plan.sim;

import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.Parameter;

/**
 * Memory that a program needs beside its inputs if it runs instruction by instruction and drops each value after its last use.
 *
 * @param peakBytes the most at one time, outputs included
 * @param outputBytes at the end
 */
public record Liveness(long peakBytes, long outputBytes) {

    /** Of a flat program with a tuple root. */
    public static Liveness of(Computation computation) {
        int n = computation.size();
        int[] lastUse = new int[n];
        int[] storage = new int[n];
        for (Instruction instruction : computation.instructions()) {
            storage[instruction.id()] =
                    instruction.op().isView() && !instruction.operands().isEmpty()
                            ? storage[instruction.operand(0).id()]
                            : instruction.id();
            lastUse[storage[instruction.id()]] = instruction.id();
            for (Instruction operand : instruction.operands()) {
                lastUse[storage[operand.id()]] = instruction.id();
            }
        }
        long live = 0;
        long peak = 0;
        long outputs = 0;
        boolean[] isOutput = new boolean[n];
        for (Instruction output : computation.root().operands()) {
            isOutput[storage[output.id()]] = true;
        }
        for (Instruction instruction : computation.instructions()) {
            int id = instruction.id();
            boolean fresh =
                    storage[id] == id && !(instruction.op() instanceof Parameter) && instruction != computation.root();
            if (fresh) {
                live += instruction.shape().sizeBytes();
                outputs += isOutput[id] ? instruction.shape().sizeBytes() : 0;
                peak = Math.max(peak, live);
            }
            if (fresh && lastUse[id] == id && !isOutput[id]) {
                live -= instruction.shape().sizeBytes();
            }
            for (Instruction operand :
                    instruction.operands().stream().distinct().toList()) {
                int place = storage[operand.id()];
                Instruction owner = computation.instructions().get(place);
                if (lastUse[place] == id && place != id && !isOutput[place] && !(owner.op() instanceof Parameter)) {
                    live -= owner.shape().sizeBytes();
                    lastUse[place] = -1;
                }
            }
        }
        return new Liveness(peak, outputs);
    }
}
