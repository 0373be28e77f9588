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
import org.jspecify.annotations.Nullable;

/** The elements in reverse order along some dims. */
public record Reverse(List<Integer> dimensions) implements Op {
    static final OpKind KIND = new OpKind("reverse", source -> new Reverse(source.ints("dimensions")));

    public Reverse {
        dimensions = List.copyOf(dimensions);
    }

    @Override
    public String opcode() {
        return "reverse";
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        ArrayShape operand = Check.onlyArray(this, operands);
        Check.dims(this, "dimensions", dimensions, operand.rank());
        return operand;
    }

    @Override
    public FactorRule factors(List<Shape> operands, Shape result) {
        ArrayShape operand = operands.get(0).asArray();
        return ShiftFactors.exchanging(
                        operand, result.asArray(), d -> !dimensions.contains(d), d -> new Mirror(operand.dim(d)))
                .build();
    }

    /** Part k takes the block of part n - 1 - k, and reverses it. */
    @Override
    public Instruction localize(Localizer local) {
        Instruction value = local.operands().get(0);
        for (int d : dimensions) {
            int factor = Halos.cut(local, local.rule().operands().get(0).get(d));
            if (factor >= 0) {
                long last = local.parts(factor) - 1;
                value = local.fetched(factor, part -> last - part, value);
            }
        }
        return local.builder().add(this, value);
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
        ArrayShape shape = self.array();
        Literal out = Literal.zeros(shape);
        long[] from = shape.strides();
        long offset = 0;
        for (int d : dimensions) {
            offset += (shape.dim(d) - 1) * from[d];
            from[d] = -from[d];
        }
        StridedCopy.copy(x, offset, from, out, 0, shape.strides(), shape.dims());
        return out;
    }

    @Override
    public List<@Nullable Instruction> vjp(
            VjpContext context, Instruction self, List<@Nullable Instruction> cotangents) {
        Instruction cotangent = cotangents.get(0);
        return Collections.singletonList(
                cotangent == null ? null : context.build().builder().add(this, cotangent));
    }
}
