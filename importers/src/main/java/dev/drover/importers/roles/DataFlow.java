package dev.drover.importers.roles;

import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.Factor;
import dev.drover.ir.ops.Op;
import dev.drover.ir.type.ArrayShape;
import java.util.function.BiPredicate;

/** What an instruction is made from. */
final class DataFlow {
    private DataFlow() {}

    /** By id: whether the instruction is needed for this one (itself included). */
    static boolean[] ancestors(Computation computation, Instruction of) {
        return ancestors(computation, of, (user, operand) -> true);
    }

    /** As {@link #ancestors}, but only along values that a gradient can flow through: floats. */
    static boolean[] smoothAncestors(Computation computation, Instruction of) {
        return ancestors(
                computation,
                of,
                (user, operand) -> !(operand.shape() instanceof ArrayShape array)
                        || array.dtype().isFloat());
    }

    private static boolean[] ancestors(
            Computation computation, Instruction of, BiPredicate<Instruction, Instruction> follows) {
        boolean[] needed = new boolean[computation.size()];
        needed[of.id()] = true;
        for (int i = of.id(); i >= 0; i--) {
            if (needed[i]) {
                Instruction user = computation.instructions().get(i);
                for (Instruction operand : user.operands()) {
                    if (follows.test(user, operand)) {
                        needed[operand.id()] = true;
                    }
                }
            }
        }
        return needed;
    }

    /** By id: whether the op brings elements of an operand together (contractions, reductions, windows, called computations). */
    static boolean[] mixing(Computation computation) {
        boolean[] mixing = new boolean[computation.size()];
        for (Instruction instruction : computation.instructions()) {
            Op op = instruction.op();
            mixing[instruction.id()] = !op.calls().isEmpty()
                    || instruction.factors().factors().stream()
                            .anyMatch(factor ->
                                    factor.kind() == Factor.Kind.REDUCTION || factor.kind() == Factor.Kind.WINDOW);
        }
        return mixing;
    }

    /** By id: whether the instruction is needed for this one by a way that goes through an op that mixes. */
    static boolean[] mixedAncestors(Computation computation, Instruction of, boolean[] mixing) {
        boolean[] plain = new boolean[computation.size()];
        boolean[] mixed = new boolean[computation.size()];
        plain[of.id()] = true;
        for (int i = of.id(); i >= 0; i--) {
            if (plain[i] || mixed[i]) {
                for (Instruction operand : computation.instructions().get(i).operands()) {
                    plain[operand.id()] |= plain[i] && !mixing[i];
                    mixed[operand.id()] |= mixed[i] || mixing[i];
                }
            }
        }
        return mixed;
    }

    static int count(boolean[] flags) {
        int count = 0;
        for (boolean flag : flags) {
            count += flag ? 1 : 0;
        }
        return count;
    }
}
