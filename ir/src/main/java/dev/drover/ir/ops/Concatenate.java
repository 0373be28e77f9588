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
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** The operands one after the other along a dim. */
public record Concatenate(int dimension, int operandCount) implements Op {
    static final OpKind KIND = new OpKind("concatenate", source -> {
        List<Integer> dimensions = source.ints("dimensions");
        if (dimensions.size() != 1) {
            throw new AttributeException(
                    "dimensions", "The dimensions (" + dimensions + ") of concatenate must be one dim.");
        }
        return new Concatenate(dimensions.get(0), source.operands().size());
    });

    @Override
    public String opcode() {
        return "concatenate";
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        Check.that(!operands.isEmpty(), "The operands of concatenate must be at least one.");
        Check.count(this, operands, operandCount);
        ArrayShape first = Check.array(this, operands, 0);
        Check.dims(this, "dimensions", List.of(dimension), first.rank());
        long size = 0;
        for (int i = 0; i < operands.size(); i++) {
            ArrayShape operand = Check.array(this, operands, i);
            Check.that(
                    operand.rank() == first.rank()
                            && operand.withDim(dimension, first.dim(dimension)).equals(first),
                    "The operand %s (%s) of concatenate must differ from operand 0 (%s) in dim %s only.",
                    i,
                    operand,
                    first,
                    dimension);
            size += operand.dim(dimension);
        }
        return first.withDim(dimension, size);
    }

    @Override
    public FactorRule factors(List<Shape> operands, Shape result) {
        List<ArrayShape> arrays = operands.stream().map(Shape::asArray).toList();
        return ShiftFactors.rule(arrays, result.asArray(), d -> d != dimension);
    }

    @Override
    public List<Set<Integer>> linearGroups() {
        return List.of(IntStream.range(0, operandCount).boxed().collect(Collectors.toUnmodifiableSet()));
    }

    @Override
    public void print(OpWriter writer) {
        writer.numbers("dimensions", List.of(dimension));
    }

    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        Literal out = Literal.zeros(self.array());
        long[] to = out.shape().strides();
        long offset = 0;
        for (Value operand : operands) {
            Literal x = operand.literal();
            StridedCopy.copy(
                    x, 0, x.shape().strides(), out, offset, to, x.shape().dims());
            offset += x.shape().dim(dimension) * to[dimension];
        }
        return out;
    }

    @Override
    public List<@Nullable Instruction> vjp(
            VjpContext context, Instruction self, List<@Nullable Instruction> cotangents) {
        Instruction cotangent = cotangents.get(0);
        if (cotangent == null) {
            return Collections.nCopies(self.operands().size(), null);
        }
        List<@Nullable Instruction> out = new ArrayList<>();
        long start = 0;
        for (Instruction operand : self.operands()) {
            long limit = start + operand.array().dim(dimension);
            out.add(context.build().slice(cotangent, dimension, start, limit));
            start = limit;
        }
        return out;
    }
}
