package dev.drover.plan.stage;

import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.FactorRule;
import dev.drover.ir.ops.Op;
import dev.drover.ir.type.Shape;
import java.util.List;
import java.util.Set;

/**
 * A sum over all micro-batches as its users see it. It stands between {@link Accumulate} and them, so that there is one place at which
 * the devices' terms of a sum may be added, once per step, however many users there are. Lowering leaves it out.
 *
 * <pre>
 *   dw[m] (partial) -> accumulate (partial) -> total (whole, or a piece) -> users
 * </pre>
 */
public record Total() implements Op {
    @Override
    public String opcode() {
        return "drover-total";
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        return operands.get(0);
    }

    @Override
    public FactorRule factors(List<Shape> operands, Shape result) {
        return Accumulate.elementwise(result);
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
}
