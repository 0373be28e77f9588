package dev.drover.ir.ops;

import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.Shape;
import java.util.ArrayList;
import java.util.List;

/** HLO's {@code map}: a computation over scalars, applied to each element of arrays of the same dims. */
public record ElementMap(List<Integer> dimensions, Computation function) implements Op {
    static final OpKind KIND =
            new OpKind("map", source -> new ElementMap(source.ints("dimensions"), source.computation("to_apply")));

    public ElementMap {
        dimensions = List.copyOf(dimensions);
    }

    @Override
    public String opcode() {
        return "map";
    }

    @Override
    public List<Computation> calls() {
        return List.of(function);
    }

    @Override
    public Op withCalls(List<Computation> callees) {
        return new ElementMap(dimensions, callees.get(0));
    }

    @Override
    public void print(OpWriter writer) {
        writer.numbers("dimensions", dimensions);
        writer.computation("to_apply", function);
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        Check.that(
                !operands.isEmpty() && operands.size() == function.parameters().size(),
                "The operands (%s) of map must be as many as the parameters (%s) of its computation, at least 1.",
                operands.size(),
                function.parameters().size());
        ArrayShape first = Check.array(this, operands, 0);
        for (int i = 1; i < operands.size(); i++) {
            ArrayShape array = Check.array(this, operands, i);
            Check.that(
                    array.withDType(first.dtype()).equals(first),
                    "The operands (%s and %s) of map must have the same dims.",
                    first,
                    array);
        }
        return first.withDType(function.root().array().dtype());
    }

    @Override
    public FactorRule factors(List<Shape> operands, Shape result) {
        FactorRule.Builder rule = new FactorRule.Builder();
        List<List<Integer>> dims = rule.freeDims(result.asArray());
        for (int i = 0; i < operands.size(); i++) {
            rule.operand(dims);
        }
        return rule.result(dims).build();
    }

    @Override
    public long flops(List<Shape> operands, Shape result) {
        return result.asArray().elements() * Call.flops(function);
    }

    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        Literal result = Literal.zeros(self.array());
        for (int i = 0; i < result.size(); i++) {
            List<Value> arguments = new ArrayList<>(operands.size());
            for (Value operand : operands) {
                arguments.add(Folds.scalar(operand.literal(), i));
            }
            result.copyElement(context.call(function, arguments).literal(), 0, i);
        }
        return result;
    }
}
