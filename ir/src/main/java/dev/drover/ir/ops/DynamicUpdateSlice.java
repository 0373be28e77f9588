package dev.drover.ir.ops;

import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.Shape;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Operand 0 with a box replaced by operand 1, from the start indexes given by the other operands (one integer scalar for each
 * dim), which are first clamped so that the box lies inside.
 */
public record DynamicUpdateSlice() implements Op {
    static final OpKind KIND = new OpKind("dynamic-update-slice", source -> new DynamicUpdateSlice());

    @Override
    public String opcode() {
        return "dynamic-update-slice";
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        Check.that(operands.size() >= 2, "The operands of dynamic-update-slice must be at least two.");
        ArrayShape operand = Check.array(this, operands, 0);
        ArrayShape update = Check.array(this, operands, 1);
        Check.count(this, operands, 2 + operand.rank());
        boolean fits = update.dtype() == operand.dtype() && update.rank() == operand.rank();
        for (int d = 0; fits && d < operand.rank(); d++) {
            fits = update.dim(d) <= operand.dim(d);
        }
        Check.that(fits, "The operand 1 (%s) of dynamic-update-slice must fit into operand 0 (%s).", update, operand);
        for (int d = 0; d < operand.rank(); d++) {
            Check.startIndex(this, operands, 2 + d);
        }
        return operand;
    }

    @Override
    public FactorRule factors(List<Shape> operands, Shape result) {
        ArrayShape operand = operands.get(0).asArray();
        ArrayShape update = operands.get(1).asArray();
        FactorRule.Builder rule =
                ShiftFactors.build(List.of(operand, update), result.asArray(), d -> operand.dim(d) == update.dim(d));
        for (int d = 0; d < operand.rank(); d++) {
            rule.operand(List.of());
        }
        return rule.build();
    }

    @Override
    public List<Set<Integer>> linearGroups() {
        return List.of(Set.of(0, 1));
    }

    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        Literal update = operands.get(1).literal();
        Literal out = Literals.copy(operands.get(0).literal());
        long[] dims = update.shape().dims();
        long offset = DynamicSlice.offset(operands, 2, out.shape(), dims);
        StridedCopy.copy(
                update, 0, update.shape().strides(), out, offset, out.shape().strides(), dims);
        return out;
    }

    @Override
    public List<@Nullable Instruction> vjp(
            VjpContext context, Instruction self, List<@Nullable Instruction> cotangents) {
        List<@Nullable Instruction> out =
                new ArrayList<>(Collections.nCopies(self.operands().size(), null));
        Instruction cotangent = cotangents.get(0);
        if (cotangent != null) {
            OpBuilder b = context.build();
            ArrayShape update = self.operand(1).array();
            List<Instruction> starts =
                    self.operands().subList(2, self.operands().size());
            out.set(0, b.dynamicUpdateSlice(cotangent, b.zeros(update), starts));
            out.set(1, b.dynamicSlice(cotangent, starts, update.dims()));
        }
        return out;
    }
}
