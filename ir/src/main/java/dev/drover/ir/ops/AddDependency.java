package dev.drover.ir.ops;

import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.Shape;
import dev.drover.ir.type.TokenShape;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Operand 0, but after the token that is operand 1. */
public record AddDependency() implements Op {
    static final OpKind KIND = new OpKind("add-dependency", source -> new AddDependency());

    @Override
    public String opcode() {
        return "add-dependency";
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        Check.count(this, operands, 2);
        Check.that(
                operands.get(1) instanceof TokenShape,
                "The operand 1 (%s) of add-dependency must be a token.",
                operands.get(1));
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
    public boolean isView() {
        return true;
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
