package dev.drover.ir.ops;

import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.ir.type.Shape;
import dev.drover.ir.type.TupleShape;
import java.util.Collections;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Begins a copy: (copy, operand, context). */
public record CopyStart() implements Op {
    static final OpKind KIND = new OpKind("copy-start", source -> new CopyStart());
    private static final ArrayShape CONTEXT = ArrayShape.scalar(DType.U32);

    @Override
    public String opcode() {
        return "copy-start";
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        ArrayShape operand = Check.onlyArray(this, operands);
        return new TupleShape(List.of(operand, operand, CONTEXT));
    }

    @Override
    public FactorRule factors(List<Shape> operands, Shape result) {
        FactorRule.Builder rule = new FactorRule.Builder();
        List<List<Integer>> dims = rule.freeDims(operands.get(0).asArray());
        return rule.operand(dims).result(dims).result(dims).result(List.of()).build();
    }

    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        Value operand = operands.get(0);
        return new Value.Tuple(List.of(operand, operand, Literal.zeros(CONTEXT)));
    }

    @Override
    public List<@Nullable Instruction> vjp(
            VjpContext context, Instruction self, List<@Nullable Instruction> cotangents) {
        Instruction copied = cotangents.get(0);
        Instruction kept = cotangents.get(1);
        return Collections.singletonList(
                copied == null ? kept : kept == null ? copied : context.build().add(copied, kept));
    }
}
