package dev.drover.ir.ops;

import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.PackedLiteral;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Which of an instruction's {@link Op#linearGroups} terms of a sum may pass, whatever the values. */
public final class LinearGroups {
    private LinearGroups() {}

    /**
     * Whether the terms of a sum may go through an instruction by a group of operands, to be summed after it. Other operands that are
     * floats scale the terms, and must be known to be neither zero nor infinite: the terms of 3 may be 5 and -2, or 3 and 0, and
     *
     * <pre>
     *   3 / 0 = inf    but    5 / 0 + -2 / 0 = NaN,    3 / 0 + 0 / 0 = NaN
     * </pre>
     */
    public static boolean passes(Instruction instruction, Set<Integer> group) {
        for (int k = 0; k < instruction.operands().size(); k++) {
            Instruction operand = instruction.operand(k);
            if (group.contains(k)) {
                if (!(operand.shape() instanceof ArrayShape array)
                        || !(array.dtype().isFloat() || array.dtype().isComplex())) {
                    return false;
                }
            } else if (scales(operand)) {
                return false;
            }
        }
        return true;
    }

    private static boolean scales(Instruction operand) {
        for (ArrayShape leaf : operand.shape().leaves()) {
            if (leaf.dtype().isFloat() || leaf.dtype().isComplex()) {
                Literal scalar = repeated(operand);
                return scalar == null || scalar.asDouble(0) == 0 || !Double.isFinite(scalar.asDouble(0));
            }
        }
        return false;
    }

    /** The one value, up to its sign, that all elements are known to have; null if none is known. */
    private static @Nullable Literal repeated(Instruction value) {
        if (!(value.shape() instanceof ArrayShape shape) || shape.dtype().isComplex()) {
            return null;
        }
        if (value.op() instanceof Constant constant) {
            PackedLiteral values = constant.values();
            return values != null && values.isSplat() ? values.withDims().unpack() : null;
        }
        boolean moves = value.operands().size() == 1
                && value.op().linearGroups().contains(Set.of(0))
                && value.operand(0).shape() instanceof ArrayShape;
        Literal scalar = moves ? repeated(value.operand(0)) : null;
        return scalar == null ? null : Convert.convert(scalar, shape.dtype());
    }
}
