package dev.drover.plan.stage;

import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.FactorRule;
import dev.drover.ir.ops.Op;
import dev.drover.ir.ops.OpWriter;
import dev.drover.ir.ops.Reduction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.Shape;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/**
 * Combines a value of each micro-batch into one per step; tasks do it, not programs. On a mesh it is elementwise and, for sums,
 * linear: partial sums pass, so that they are reduced once per step and not once per micro-batch.
 */
public record Accumulate(Reduction reduction) implements Op {
    @Override
    public String opcode() {
        return "drover-accumulate";
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        return operands.get(0);
    }

    @Override
    public FactorRule factors(List<Shape> operands, Shape result) {
        return elementwise(result);
    }

    static FactorRule elementwise(Shape shape) {
        FactorRule.Builder rule = new FactorRule.Builder();
        List<List<Integer>> dims = rule.freeDims((ArrayShape) shape);
        return rule.operand(dims).result(dims).build();
    }

    @Override
    public List<Set<Integer>> linearGroups() {
        return reduction == Reduction.SUM ? List.of(Set.of(0)) : List.of();
    }

    @Override
    public void print(OpWriter writer) {
        writer.attribute("reduction", reduction.name().toLowerCase(Locale.ROOT));
    }

    /** Of one micro-batch: the value itself. */
    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        return operands.get(0);
    }
}
