package dev.drover.ir.ops;

import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.Shape;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** One result element for each operand element: {@code f(x[i])}. What differs between the kinds is in {@link UnaryKind}. */
public record Unary(UnaryKind kind) implements Op {

    @Override
    public String opcode() {
        return kind.opcode();
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        ArrayShape operand = Check.onlyArray(this, operands);
        Check.that(
                kind.accepts(operand.dtype()),
                "The element type (%s) of the operand of %s must be %s.",
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
        return kind.linear() ? List.of(Set.of(0)) : List.of();
    }

    @Override
    public long flops(List<Shape> operands, Shape result) {
        return result.asArray().elements();
    }

    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        return Elementwise.unary(kind, operands.get(0).literal(), self.array());
    }

    @Override
    public List<@Nullable Instruction> vjp(
            VjpContext context, Instruction self, List<@Nullable Instruction> cotangents) {
        Instruction cotangent = cotangents.get(0);
        if (cotangent == null) {
            return Collections.singletonList(null);
        }
        return Collections.singletonList(kind.gradient().apply(context.build(), self.operand(0), self, cotangent));
    }
}
