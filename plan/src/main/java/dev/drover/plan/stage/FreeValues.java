package dev.drover.plan.stage;

import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.Parameter;
import dev.drover.ir.type.ArrayShape;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/**
 * Values that each program makes for itself instead of keeping or sending them: constants, iotas, what is made of them alone with little
 * work (not the random bits of a counter-based generator), and small values spread over large shapes.
 */
public final class FreeValues {
    private static final long SMALL_BYTES = 1 << 12;
    private static final long SPREAD = 16;
    /** A value that takes more operations for each of its elements, those that it is made of included, is not little work. */
    private static final double MOST_WORK = 24;

    private FreeValues() {}

    /** By instruction id. Outputs, accumulated values and what has side effects are never free. */
    public static boolean[] of(Computation computation) {
        boolean[] free = new boolean[computation.size()];
        Set<Instruction> needed = new HashSet<>(computation.root().operands());
        for (Instruction instruction : computation.instructions()) {
            if (isTaskWork(instruction)) {
                needed.addAll(instruction.operands());
            }
        }
        double[] work = new double[computation.size()];
        for (Instruction instruction : computation.instructions()) {
            if (!(instruction.shape() instanceof ArrayShape array)
                    || needed.contains(instruction)
                    || !mayRepeat(instruction, computation)) {
                continue;
            }
            long own = instruction.op().flops(instruction.operandShapes(), array);
            double all = own + workOfOperands(instruction, work);
            if (own <= array.elements()
                    && all <= MOST_WORK * array.elements()
                    && (isMadeOfFree(instruction, free) || spreads(instruction))) {
                free[instruction.id()] = true;
                work[instruction.id()] = all;
            }
        }
        return free;
    }

    /** What two operands share counts twice. */
    private static double workOfOperands(Instruction instruction, double[] work) {
        double sum = 0;
        for (Instruction operand : instruction.operands()) {
            sum += work[operand.id()];
        }
        return sum;
    }

    private static boolean mayRepeat(Instruction instruction, Computation computation) {
        return !(instruction.op() instanceof Parameter)
                && instruction != computation.root()
                && !instruction.op().hasSideEffect()
                && !isTaskWork(instruction)
                && instruction.op().calls().isEmpty();
    }

    private static boolean isMadeOfFree(Instruction instruction, boolean[] free) {
        for (Instruction operand : instruction.operands()) {
            if (!free[operand.id()]) {
                return false;
            }
        }
        return true;
    }

    private static boolean spreads(Instruction instruction) {
        long operandBytes = 0;
        for (Instruction operand : instruction.operands()) {
            if (!(operand.shape() instanceof ArrayShape)) {
                return false;
            }
            operandBytes += operand.shape().sizeBytes();
        }
        return operandBytes <= SMALL_BYTES && instruction.shape().sizeBytes() >= SPREAD * operandBytes;
    }

    /** The distinct values that are not free of which an instruction is made, in order; parameters included. */
    public static List<Instruction> sources(Instruction instruction, boolean[] free) {
        Set<Instruction> out = new LinkedHashSet<>();
        collect(instruction, free, new HashSet<>(), out);
        return List.copyOf(out);
    }

    private static void collect(Instruction instruction, boolean[] free, Set<Instruction> seen, Set<Instruction> out) {
        for (Instruction operand : instruction.operands()) {
            if (!free[operand.id()]) {
                out.add(operand);
            } else if (!operand.operands().isEmpty() && seen.add(operand)) {
                collect(operand, free, seen, out);
            }
        }
    }

    /** Work that tasks do, not programs. */
    public static boolean isTaskWork(Instruction instruction) {
        return instruction.op() instanceof Accumulate || instruction.op() instanceof Stack;
    }
}
