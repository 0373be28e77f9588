package dev.drover.ir.ops;

import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.Shape;
import dev.drover.ir.type.TupleShape;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Element {@code index} of a tuple. */
public record GetTupleElement(int index) implements Op {
    static final OpKind KIND = new OpKind("get-tuple-element", source -> {
        source.need("index");
        return new GetTupleElement(source.integer("index", 0));
    });

    @Override
    public String opcode() {
        return "get-tuple-element";
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        Check.count(this, operands, 1);
        if (!(operands.get(0) instanceof TupleShape tuple)) {
            throw new IllegalArgumentException(
                    "The operand (" + operands.get(0) + ") of get-tuple-element must be a tuple.");
        }
        Check.that(
                index >= 0 && index < tuple.elements().size(),
                "The index (%s) of get-tuple-element must be in [0, %s).",
                index,
                tuple.elements().size());
        return tuple.elements().get(index);
    }

    /** Leaves of the operand before those of the element. */
    private int leavesBefore(Shape operand) {
        int leaves = 0;
        if (operand instanceof TupleShape tuple) {
            for (Shape element : tuple.elements().subList(0, index)) {
                leaves += element.leaves().size();
            }
        }
        return leaves;
    }

    @Override
    public FactorRule factors(List<Shape> operands, Shape result) {
        FactorRule.Builder rule = new FactorRule.Builder();
        int first = leavesBefore(operands.get(0));
        int count = result.leaves().size();
        List<ArrayShape> leaves = operands.get(0).leaves();
        for (int i = 0; i < leaves.size(); i++) {
            List<List<Integer>> dims = rule.freeDims(leaves.get(i));
            rule.operand(dims);
            if (i >= first && i < first + count) {
                rule.result(dims);
            }
        }
        return rule.build();
    }

    @Override
    public List<Set<Integer>> linearGroups() {
        return List.of(Set.of(0));
    }

    @Override
    public void print(OpWriter writer) {
        writer.attribute("index", Integer.toString(index));
    }

    @Override
    public boolean isView() {
        return true;
    }

    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        if (operands.get(0) instanceof Value.Tuple tuple) {
            return tuple.elements().get(index);
        }
        throw new IllegalStateException("The operand of get-tuple-element (" + self.name() + ") must be a tuple.");
    }

    @Override
    public List<@Nullable Instruction> vjp(
            VjpContext context, Instruction self, List<@Nullable Instruction> cotangents) {
        Shape operand = self.operand(0).shape();
        List<@Nullable Instruction> out =
                new ArrayList<>(Collections.nCopies(operand.leaves().size(), null));
        int first = leavesBefore(operand);
        for (int i = 0; i < cotangents.size(); i++) {
            out.set(first + i, cotangents.get(i));
        }
        return out;
    }
}
