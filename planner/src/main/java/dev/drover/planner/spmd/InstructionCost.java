package dev.drover.planner.spmd;

import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import java.util.List;

/** What one device's piece of an instruction takes. */
@FunctionalInterface
public interface InstructionCost {

    /**
     * Time in nanoseconds of a local instruction.
     *
     * @param whole the whole instruction
     * @param flops floating point operations of the piece
     * @param operands local shapes of the operands
     * @param results local shapes of the result leaves
     */
    double nanos(Instruction whole, double flops, List<ArrayShape> operands, List<ArrayShape> results);
}
