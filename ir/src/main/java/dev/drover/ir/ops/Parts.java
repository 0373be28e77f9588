package dev.drover.ir.ops;

import dev.drover.ir.eval.Literal;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** What local forms of ops need where a reduction is cut: values that only one part may use. */
final class Parts {
    private Parts() {}

    /** Factors of a kind that are cut, among those of some dims. */
    static List<Integer> cut(Localizer local, List<List<Integer>> dims, Factor.Kind kind) {
        Set<Integer> out = new LinkedHashSet<>();
        for (List<Integer> dim : dims) {
            for (int factor : dim) {
                if (local.parts(factor) > 1
                        && local.rule().factors().get(factor).kind() == kind) {
                    out.add(factor);
                }
            }
        }
        return List.copyOf(out);
    }

    /**
     * A value that is counted once: as it is on the part with index 0 of all these factors, the neutral value elsewhere. Minima, maxima,
     * ands and ors may count it on every part.
     */
    static Instruction once(Localizer local, List<Integer> factors, Instruction value, @Nullable Reduction reduction) {
        if (factors.isEmpty() || (reduction != Reduction.SUM && reduction != Reduction.PROD)) {
            return value;
        }
        ArrayShape shape = value.array();
        Literal neutral = Reducers.neutral(reduction, shape.dtype());
        if (isConstant(value, neutral)) {
            return value;
        }
        OpBuilder build = new OpBuilder(local.builder());
        Instruction sum = null;
        for (int factor : factors) {
            Instruction index = local.partIndex(factor);
            sum = sum == null ? index : build.add(sum, index);
        }
        if (sum == null) {
            return value;
        }
        Instruction first = build.compare(sum, 0, Compare.Direction.EQ);
        return build.select(build.broadcastTo(first, shape), value, build.broadcastTo(build.constant(neutral), shape));
    }

    /** Whether all elements are known to be this scalar. */
    static boolean isConstant(Instruction value, Literal scalar) {
        Instruction at = value;
        while (at.op().opcode().equals("broadcast") && at.operand(0).array().rank() == 0) {
            at = at.operand(0);
        }
        return at.op() instanceof Constant constant
                && constant.values() != null
                && constant.values().isSplat()
                && constant.shape().dtype() == scalar.dtype()
                && constant.values().withDims().unpack().equals(scalar);
    }
}
