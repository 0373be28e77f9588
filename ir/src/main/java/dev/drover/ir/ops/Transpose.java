package dev.drover.ir.ops;

import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.Shape;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** Dim k of the result is dim {@code permutation[k]} of the operand. */
public record Transpose(List<Integer> permutation) implements Op {
    static final OpKind KIND = new OpKind("transpose", source -> new Transpose(source.ints("dimensions")));

    public Transpose {
        permutation = List.copyOf(permutation);
    }

    @Override
    public String opcode() {
        return "transpose";
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        ArrayShape operand = Check.onlyArray(this, operands);
        Check.that(
                permutation.size() == operand.rank(),
                "The dimensions (%s) of transpose must be as many as the dims of its operand (%s).",
                permutation,
                operand);
        Check.dims(this, "dimensions", permutation, operand.rank());
        return operand.withDims(permutation.stream().mapToLong(operand::dim).toArray());
    }

    /** The permutation that undoes this one. */
    public List<Integer> inverse() {
        return IntStream.range(0, permutation.size())
                .map(permutation::indexOf)
                .boxed()
                .toList();
    }

    @Override
    public FactorRule factors(List<Shape> operands, Shape result) {
        FactorRule.Builder rule = new FactorRule.Builder();
        List<List<Integer>> dims = rule.freeDims(operands.get(0).asArray());
        return rule.operand(dims)
                .result(permutation.stream().map(dims::get).toList())
                .build();
    }

    @Override
    public List<Set<Integer>> linearGroups() {
        return List.of(Set.of(0));
    }

    @Override
    public void print(OpWriter writer) {
        writer.numbers("dimensions", permutation);
    }

    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        Literal x = operands.get(0).literal();
        Literal out = Literal.zeros(self.array());
        long[] strides = x.shape().strides();
        long[] from = permutation.stream().mapToLong(d -> strides[d]).toArray();
        StridedCopy.copy(x, 0, from, out, 0, out.shape().strides(), out.shape().dims());
        return out;
    }

    @Override
    public List<@Nullable Instruction> vjp(
            VjpContext context, Instruction self, List<@Nullable Instruction> cotangents) {
        Instruction cotangent = cotangents.get(0);
        return Collections.singletonList(
                cotangent == null ? null : context.build().transpose(cotangent, inverse()));
    }
}
