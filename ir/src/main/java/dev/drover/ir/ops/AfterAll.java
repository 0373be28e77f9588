package dev.drover.ir.ops;

import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.Shape;
import dev.drover.ir.type.TokenShape;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A token that comes after all the operands, which are tokens; without any, a first token. */
public record AfterAll() implements Op {
    static final OpKind KIND = new OpKind("after-all", source -> new AfterAll());

    @Override
    public String opcode() {
        return "after-all";
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        for (Shape operand : operands) {
            Check.that(operand instanceof TokenShape, "The operands (%s) of after-all must be tokens.", operands);
        }
        return TokenShape.TOKEN;
    }

    @Override
    public boolean isView() {
        return true;
    }

    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        return new Value.Token();
    }

    @Override
    public List<@Nullable Instruction> vjp(
            VjpContext context, Instruction self, List<@Nullable Instruction> cotangents) {
        return List.of();
    }
}
