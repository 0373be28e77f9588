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
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Repeats the operand along new dims. Dim k of the operand is dim {@code dimensions[k]} of the result, of the same size; the
 * other dims of the result, whose sizes are {@code sizes}, are new.
 *
 * @param sizes the result's dims
 */
public record Broadcast(List<Long> sizes, List<Integer> dimensions) implements Op {
    static final OpKind KIND = new OpKind(
            "broadcast", source -> new Broadcast(Dims.list(source.shape().asArray()), source.ints("dimensions")));

    public Broadcast {
        sizes = List.copyOf(sizes);
        dimensions = List.copyOf(dimensions);
    }

    @Override
    public String opcode() {
        return "broadcast";
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        ArrayShape operand = Check.onlyArray(this, operands);
        Check.that(
                dimensions.size() == operand.rank(),
                "The dimensions (%s) of broadcast must be as many as the dims of its operand (%s).",
                dimensions,
                operand);
        Check.dims(this, "dimensions", dimensions, sizes.size());
        for (int k = 0; k < operand.rank(); k++) {
            Check.that(
                    sizes.get(dimensions.get(k)) == operand.dim(k),
                    "The dim %s (%s) of the result of broadcast must be dim %s of its operand (%s).",
                    dimensions.get(k),
                    sizes.get(dimensions.get(k)),
                    k,
                    operand);
        }
        return operand.withDims(Dims.array(sizes));
    }

    @Override
    public FactorRule factors(List<Shape> operands, Shape result) {
        FactorRule.Builder rule = new FactorRule.Builder();
        List<List<Integer>> dims = rule.freeDims(result.asArray());
        return rule.operand(dimensions.stream().map(dims::get).toList())
                .result(dims)
                .build();
    }

    @Override
    public List<Set<Integer>> linearGroups() {
        return List.of(Set.of(0));
    }

    @Override
    public void print(OpWriter writer) {
        writer.numbers("dimensions", dimensions);
    }

    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        Literal x = operands.get(0).literal();
        Literal out = Literal.zeros(self.array());
        long[] from = new long[sizes.size()];
        long[] strides = x.shape().strides();
        for (int k = 0; k < strides.length; k++) {
            from[dimensions.get(k)] = strides[k];
        }
        StridedCopy.copy(x, 0, from, out, 0, out.shape().strides(), out.shape().dims());
        return out;
    }

    @Override
    public List<@Nullable Instruction> vjp(
            VjpContext context, Instruction self, List<@Nullable Instruction> cotangents) {
        Instruction cotangent = cotangents.get(0);
        if (cotangent == null) {
            return Collections.singletonList(null);
        }
        OpBuilder b = context.build();
        List<Integer> added = IntStream.range(0, sizes.size())
                .filter(d -> !dimensions.contains(d))
                .boxed()
                .toList();
        Instruction sum = b.sum(cotangent, added);
        // The sum has the kept dims in the result's order; the operand may have had another.
        List<Integer> kept = new ArrayList<>(dimensions);
        Collections.sort(kept);
        List<Integer> order = dimensions.stream().map(kept::indexOf).toList();
        return Collections.singletonList(b.transpose(sum, order));
    }

    @Override
    public Instruction localize(Localizer local) {
        return local.builder().add(new Broadcast(Dims.list(local.localResult()), dimensions), local.operands());
    }
}
