package dev.drover.ir.ops;

import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.Shape;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** {@code f(x[i], y[i])} of two arrays of one shape. What differs between the kinds is in {@link BinaryKind}. */
public record Binary(BinaryKind kind) implements Op {

    @Override
    public String opcode() {
        return kind.opcode();
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        ArrayShape operand = Check.sameArrays(this, operands, 2);
        Check.that(
                kind.accepts(operand.dtype()),
                "The element type (%s) of the operands of %s must be %s.",
                operand.dtype().hloName(),
                opcode(),
                kind.accepted());
        return operand.withDType(kind.resultType(operand.dtype()));
    }

    @Override
    public FactorRule factors(List<Shape> operands, Shape result) {
        return Elementwise.factors(operands, result);
    }

    @Override
    public List<Set<Integer>> linearGroups() {
        return kind.linearGroups();
    }

    @Override
    public long flops(List<Shape> operands, Shape result) {
        return kind == BinaryKind.COMPLEX ? 0 : result.asArray().elements();
    }

    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        return Elementwise.binary(
                kind, operands.get(0).literal(), operands.get(1).literal(), self.array());
    }

    @Override
    public List<@Nullable Instruction> vjp(
            VjpContext context, Instruction self, List<@Nullable Instruction> cotangents) {
        Instruction cotangent = cotangents.get(0);
        if (cotangent == null) {
            return Arrays.asList(null, null);
        }
        return kind.gradient().apply(context.build(), self.operand(0), self.operand(1), self, cotangent);
    }
}
