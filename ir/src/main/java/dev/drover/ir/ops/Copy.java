package dev.drover.ir.ops;

import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.Shape;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The operand itself, in another buffer or layout. */
public record Copy() implements Op {
    static final OpKind KIND = new OpKind("copy", source -> new Copy());

    @Override
    public String opcode() {
        return "copy";
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        Check.count(this, operands, 1);
        return operands.get(0);
    }

    @Override
    public FactorRule factors(List<Shape> operands, Shape result) {
        return PassThrough.factors(operands, result);
    }

    @Override
    public List<Set<Integer>> linearGroups() {
        return List.of(Set.of(0));
    }

    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        return operands.get(0);
    }

    @Override
    public List<@Nullable Instruction> vjp(
            VjpContext context, Instruction self, List<@Nullable Instruction> cotangents) {
        return cotangents;
    }
}
