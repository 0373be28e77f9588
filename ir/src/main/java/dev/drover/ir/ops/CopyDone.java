package dev.drover.ir.ops;

import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.Shape;
import dev.drover.ir.type.TupleShape;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The copy that a {@link CopyStart} began. */
public record CopyDone() implements Op {
    static final OpKind KIND = new OpKind("copy-done", source -> new CopyDone());

    @Override
    public String opcode() {
        return "copy-done";
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        Check.count(this, operands, 1);
        if (operands.get(0) instanceof TupleShape tuple && tuple.elements().size() == 3) {
            return tuple.elements().get(0);
        }
        throw new IllegalArgumentException(
                "The operand (" + operands.get(0) + ") of copy-done must be what copy-start yields.");
    }

    @Override
    public FactorRule factors(List<Shape> operands, Shape result) {
        FactorRule.Builder rule = new FactorRule.Builder();
        List<List<Integer>> dims = rule.freeDims(result.asArray());
        return rule.operand(dims).operand(dims).operand(List.of()).result(dims).build();
    }

    @Override
    public boolean isView() {
        return true;
    }

    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        if (operands.get(0) instanceof Value.Tuple tuple) {
            return tuple.elements().get(0);
        }
        throw new IllegalStateException("The operand of copy-done (" + self.name() + ") must be a tuple.");
    }

    @Override
    public List<@Nullable Instruction> vjp(
            VjpContext context, Instruction self, List<@Nullable Instruction> cotangents) {
        return Arrays.asList(cotangents.get(0), null, null);
    }
}
