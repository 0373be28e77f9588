package dev.drover.planner.search;

import dev.drover.ir.graph.Instruction;
import dev.drover.ir.graph.TrainingStep;
import dev.drover.ir.ops.Parameter;
import dev.drover.ir.type.ArrayShape;
import dev.drover.plan.stage.CutStep;
import dev.drover.plan.stage.Passes;
import dev.drover.plan.stage.Phase;
import java.util.List;

/**
 * Bytes that all devices must have together, however a step is cut: known before anything is searched. If they are more than the
 * devices have, the fullest device lacks at least its share of what is missing.
 */
final class MemoryFloor {
    private static final long SPREAD = 8;

    private MemoryFloor() {}

    /** Parameters, optimizer state and whatever else is updated: there throughout a step, in one place at least. */
    static long stateBytes(TrainingStep step) {
        boolean[] state = step.stateByInput();
        List<ArrayShape> shapes = step.inputShapes();
        long bytes = 0;
        for (int input = 0; input < state.length; input++) {
            bytes += state[input] ? shapes.get(input).sizeBytes() : 0;
        }
        return bytes;
    }

    /**
     * What one micro-batch's forward pass leaves for its backward pass. Each stage has its part of it, all at once, when it comes to
     * its first backward pass. What programs may make for themselves instead ({@link dev.drover.plan.stage.FreeValues}) is not counted.
     */
    static long waitingBytes(CutStep cut) {
        List<Phase> phases = Passes.of(cut);
        List<Instruction> instructions = cut.computation().instructions();
        boolean[] repeatable = new boolean[instructions.size()];
        boolean[] waits = new boolean[instructions.size()];
        for (Instruction user : instructions) {
            repeatable[user.id()] = mayRepeat(user, repeatable);
            for (Instruction operand : user.operands()) {
                waits[operand.id()] |= phases.get(user.id()) == Phase.BACKWARD
                        && !repeatable[user.id()]
                        && phases.get(operand.id()) == Phase.FORWARD;
            }
        }
        long bytes = 0;
        for (Instruction instruction : instructions) {
            boolean counts = waits[instruction.id()]
                    && !repeatable[instruction.id()]
                    && !(instruction.op() instanceof Parameter)
                    && !instruction.op().isView()
                    && instruction.shape() instanceof ArrayShape;
            bytes += counts ? instruction.shape().sizeBytes() : 0;
        }
        return bytes;
    }

    /** Made of constants, or much larger than what it is made of: however small the pieces, no more than these is made anew. */
    private static boolean mayRepeat(Instruction instruction, boolean[] repeatable) {
        boolean all = !(instruction.op() instanceof Parameter);
        long operandBytes = 0;
        for (Instruction operand : instruction.operands()) {
            all &= repeatable[operand.id()];
            operandBytes += operand.shape().sizeBytes();
        }
        return all || (!instruction.operands().isEmpty() && instruction.shape().sizeBytes() > SPREAD * operandBytes);
    }
}
