package dev.drover.ir.ops;

import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.ir.type.Shape;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A box of {@code sizes} out of operand 0, from the start indexes given by the other operands (one integer scalar for each
 * dim), which are first clamped so that the box lies inside.
 */
public record DynamicSlice(List<Long> sizes) implements Op {
    static final OpKind KIND =
            new OpKind("dynamic-slice", source -> new DynamicSlice(source.longs("dynamic_slice_sizes")));

    public DynamicSlice {
        sizes = List.copyOf(sizes);
    }

    @Override
    public String opcode() {
        return "dynamic-slice";
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        Check.that(!operands.isEmpty(), "The operands of dynamic-slice must be at least one.");
        ArrayShape operand = Check.array(this, operands, 0);
        Check.count(this, operands, 1 + operand.rank());
        Check.that(
                sizes.size() == operand.rank(),
                "The dynamic_slice_sizes (%s) of dynamic-slice must be as many as the dims of its operand (%s).",
                sizes,
                operand);
        for (int d = 0; d < operand.rank(); d++) {
            Check.startIndex(this, operands, 1 + d);
            Check.that(
                    sizes.get(d) >= 0 && sizes.get(d) <= operand.dim(d),
                    "The dynamic_slice_sizes (%s) of dynamic-slice must fit into its operand (%s).",
                    sizes,
                    operand);
        }
        return operand.withDims(Dims.array(sizes));
    }

    @Override
    public FactorRule factors(List<Shape> operands, Shape result) {
        ArrayShape operand = operands.get(0).asArray();
        FactorRule.Builder rule = ShiftFactors.build(
                List.of(operand),
                result.asArray(),
                d -> operand.dim(d) == result.asArray().dim(d));
        for (int d = 0; d < operand.rank(); d++) {
            rule.operand(List.of());
        }
        return rule.build();
    }

    @Override
    public List<Set<Integer>> linearGroups() {
        return List.of(Set.of(0));
    }

    @Override
    public boolean readsAll(int operand) {
        return operand != 0;
    }

    @Override
    public void print(OpWriter writer) {
        writer.numbers("dynamic_slice_sizes", sizes);
    }

    /** Where the box begins, as an offset into the operand; the start indexes follow {@code before} other operands. */
    static long offset(List<Value> operands, int before, ArrayShape operand, long[] sizes) {
        long offset = 0;
        long[] strides = operand.strides();
        for (int d = 0; d < sizes.length; d++) {
            Literal start = operands.get(before + d).literal();
            long most = operand.dim(d) - sizes[d];
            boolean huge = start.dtype() == DType.U64 && start.longs()[0] < 0;
            long at = huge ? most : Math.max(0, Math.min(most, start.longs()[0]));
            offset += at * strides[d];
        }
        return offset;
    }

    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        Literal x = operands.get(0).literal();
        Literal out = Literal.zeros(self.array());
        long offset = offset(operands, 1, x.shape(), out.shape().dims());
        StridedCopy.copy(
                x,
                offset,
                x.shape().strides(),
                out,
                0,
                out.shape().strides(),
                out.shape().dims());
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
            List<Instruction> starts =
                    self.operands().subList(1, self.operands().size());
            out.set(0, b.dynamicUpdateSlice(b.zeros(self.operand(0).array()), cotangent, starts));
        }
        return out;
    }

    @Override
    public Instruction localize(Localizer local) {
        return local.builder().add(new DynamicSlice(Dims.list(local.localResult())), local.operands());
    }
}
