package dev.drover.ir.ops;

import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.Shape;
import dev.drover.ir.type.TupleShape;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** Its operands as one value. */
public record Tuple(int operandCount) implements Op {
    static final OpKind KIND =
            new OpKind("tuple", source -> new Tuple(source.operands().size()));

    @Override
    public String opcode() {
        return "tuple";
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        Check.count(this, operands, operandCount);
        return new TupleShape(operands);
    }

    @Override
    public FactorRule factors(List<Shape> operands, Shape result) {
        return PassThrough.factors(operands, result);
    }

    @Override
    public List<Set<Integer>> linearGroups() {
        return List.of(IntStream.range(0, operandCount).boxed().collect(Collectors.toUnmodifiableSet()));
    }

    @Override
    public boolean isView() {
        return true;
    }

    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        return new Value.Tuple(operands);
    }

    @Override
    public List<@Nullable Instruction> vjp(
            VjpContext context, Instruction self, List<@Nullable Instruction> cotangents) {
        return cotangents;
    }
}
