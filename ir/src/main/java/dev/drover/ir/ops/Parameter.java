package dev.drover.ir.ops;

import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.Shape;
import java.util.List;

/** Input number {@code number} of its computation. */
public record Parameter(int number, Shape shape) implements Op {
    static final OpKind KIND = new OpKind("parameter", Parameter::parse);

    private static Op parse(OpSource source) {
        try {
            return new Parameter(Integer.parseInt(source.payload().trim()), source.shape());
        } catch (NumberFormatException e) {
            throw new AttributeException(
                    "", "The number (" + source.payload() + ") of a parameter must be a whole number.");
        }
    }

    @Override
    public String opcode() {
        return "parameter";
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        return shape;
    }

    @Override
    public FactorRule factors(List<Shape> operands, Shape result) {
        FactorRule.Builder rule = new FactorRule.Builder();
        for (ArrayShape leaf : result.leaves()) {
            rule.result(rule.freeDims(leaf));
        }
        return rule.build();
    }

    @Override
    public void print(OpWriter writer) {
        writer.payload(Integer.toString(number));
    }

    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        return context.argument(number);
    }

    @Override
    public Instruction localize(Localizer local) {
        return local.builder().add(new Parameter(number, local.localResult()), List.of());
    }
}
