package dev.drover.importers.roles;

import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.Instruction;
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

    static int count(boolean[] flags) {
        int count = 0;
        for (boolean flag : flags) {
            count += flag ? 1 : 0;
        }
        return count;
    }
}
