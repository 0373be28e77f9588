package dev.drover.ir.ops;

import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.Shape;
import dev.drover.ir.type.TupleShape;
import java.util.List;

/**
 * The end of a collective that was started. {@code all-reduce-done} yields its operand, {@code all-gather-done} and {@code
 * collective-permute-done} element 1 of it.
 */
public record CollectiveDone(String opcode) implements Op {
    static final OpKind ALL_REDUCE = kind("all-reduce-done");
    static final OpKind ALL_GATHER = kind("all-gather-done");
    static final OpKind COLLECTIVE_PERMUTE = kind("collective-permute-done");

    private static OpKind kind(String opcode) {
        return new OpKind(opcode, source -> new CollectiveDone(opcode));
    }

    private boolean isWhole() {
        return opcode.equals("all-reduce-done");
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        Check.count(this, operands, 1);
        if (isWhole()) {
            return operands.get(0);
        }
        if (operands.get(0) instanceof TupleShape tuple && tuple.elements().size() >= 2) {
            return tuple.elements().get(1);
        }
        throw new IllegalArgumentException("The operand (" + operands.get(0) + ") of " + opcode
                + " must be a tuple of what was given and what comes out.");
    }

    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        if (isWhole()) {
            return operands.get(0);
        }
        return ((Value.Tuple) operands.get(0)).elements().get(1);
    }

    @Override
    public boolean isView() {
        return true;
    }

    @Override
    public boolean hasSideEffect() {
        return true;
    }
}
