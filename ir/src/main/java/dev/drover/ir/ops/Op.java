package dev.drover.ir.ops;

import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.Shape;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What an instruction does: everything about an op is in its one file. Ops are immutable records (lists, never arrays, so that
 * {@code equals} works); the attributes are HLO's.
 */
public interface Op {

    /** HLO's opcode, such as {@code dot}. */
    String opcode();

    /**
     * The result's shape; fails with {@link IllegalArgumentException}, worded as in STYLE.md, where operands do not fit.
     */
    Shape inferShape(List<Shape> operands);

    /**
     * How dims may be cut. Leaves of tuple-shaped operands and results count in depth-first order. The default cuts nothing.
     */
    default FactorRule factors(List<Shape> operands, Shape result) {
        return FactorRule.whole(operands, result);
    }

    /**
     * Groups of operand indexes such that the op is linear in the group jointly, the other operands held fixed: {@code add
     * [{0,1}]}, {@code dot [{0},{1}]}, {@code divide [{0}]}, {@code select [{1,2}]}. A value that is partial under a sum may
     * pass: if all operands of one group are partial, and the others are not, so is the result. See {@link LinearGroups#passes} for
     * others that are infinite or zero.
     */
    default List<Set<Integer>> linearGroups() {
        return List.of();
    }

    /** Floating point operations, a multiply-add counting two. Data movement counts 0. */
    default long flops(List<Shape> operands, Shape result) {
        return 0;
    }

    /** Whether the result is the operand's memory under another shape, or is made of nothing worth counting. */
    default boolean isView() {
        return false;
    }

    /** Whether all of an operand is read, or of the array in which something is looked up only as much as the result has. */
    default boolean readsAll(int operand) {
        return true;
    }

    /** Computations named in attributes, in the order in which they are printed. */
    default List<Computation> calls() {
        return List.of();
    }

    /** This op calling others instead, given in the order of {@link #calls}. */
    default Op withCalls(List<Computation> callees) {
        if (!callees.isEmpty()) {
            throw new IllegalArgumentException("The op (" + opcode() + ") must call nothing.");
        }
        return this;
    }

    /** Writes payload and attributes as HLO text has them. */
    default void print(OpWriter writer) {}

    /** The value, by the reference semantics. Operands are as many as the instruction's. */
    Value evaluate(EvalContext context, Instruction self, List<Value> operands);

    /**
     * Reverse mode: the cotangent of each operand leaf (null where none flows), given those of the result's leaves (null where
     * none arrives). Leaves count in depth-first order over all operands: for operands that are arrays, operand by operand.
     * Instructions are appended with {@link VjpContext#build}; {@code self} and its operands belong to the same builder. Fails
     * with {@link NoGradientException}.
     */
    default List<@Nullable Instruction> vjp(
            VjpContext context, Instruction self, List<@Nullable Instruction> cotangents) {
        throw new NoGradientException(
                "The op (" + opcode() + ") of instruction (" + self.name() + ") must have a gradient rule.");
    }

    /**
     * The op on one part of the factors that are cut. Operands are the local ones; the result must have the local shape, partial
     * where a reduction factor is cut. Ops that hold sizes in their attributes override this.
     */
    default Instruction localize(Localizer local) {
        return local.builder().add(this, local.operands());
    }

    /** Whether it may not be removed or repeated freely (random state, communication with the outside). */
    default boolean hasSideEffect() {
        return false;
    }
}
