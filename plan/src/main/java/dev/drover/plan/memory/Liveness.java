package dev.drover.plan.memory;

import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.Parameter;

/**
 * Memory that a program needs beside its inputs and outputs if it runs instruction by instruction and drops each value after its last
 * use.
 *
 * @param poolBytes the most at one time
 */
public record Liveness(long poolBytes) {

    /** Of a flat program with a tuple root. */
    public static Liveness of(Computation computation) {
        int n = computation.size();
        int[] lastUse = new int[n];
        int[] storage = new int[n];
        for (Instruction instruction : computation.instructions()) {
            int id = instruction.id();
            storage[id] = instruction.op().isView() && !instruction.operands().isEmpty()
                    ? storage[instruction.operand(0).id()]
                    : id;
            lastUse[storage[id]] = id;
            instruction.operands().forEach(operand -> lastUse[storage[operand.id()]] = id);
        }
        boolean[] counts = new boolean[n];
        for (Instruction instruction : computation.instructions()) {
            int id = instruction.id();
            counts[id] =
                    storage[id] == id && !(instruction.op() instanceof Parameter) && instruction != computation.root();
        }
        computation.root().operands().forEach(output -> counts[storage[output.id()]] = false);
        long[] dyingBytes = new long[n];
        for (Instruction instruction : computation.instructions()) {
            if (counts[instruction.id()]) {
                dyingBytes[lastUse[instruction.id()]] += instruction.shape().sizeBytes();
            }
        }
        long live = 0;
        long peak = 0;
        for (Instruction instruction : computation.instructions()) {
            live += counts[instruction.id()] ? instruction.shape().sizeBytes() : 0;
            peak = Math.max(peak, live);
            live -= dyingBytes[instruction.id()];
        }
        return new Liveness(peak);
    }
}
