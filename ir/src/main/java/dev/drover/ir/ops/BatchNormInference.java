package dev.drover.ir.ops;

import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.Shape;
import java.util.List;

/** Normalizes by given statistics. Operands: array, scale, offset, mean, variance, each but the first {@code [F]}. */
public record BatchNormInference(double epsilon, int featureIndex) implements Op {
    static final OpKind KIND = new OpKind(
            "batch-norm-inference",
            source -> new BatchNormInference(BatchNorm.epsilon(source), source.integer("feature_index", -1)));

    @Override
    public String opcode() {
        return "batch-norm-inference";
    }

    @Override
    public void print(OpWriter writer) {
        BatchNorm.print(writer, epsilon, featureIndex);
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        return BatchNorm.check(this, operands, 5, featureIndex, List.of(1, 2, 3, 4));
    }

    @Override
    public FactorRule factors(List<Shape> operands, Shape result) {
        return BatchNorm.rule(operands, result, featureIndex, Factor.Kind.FREE);
    }

    @Override
    public long flops(List<Shape> operands, Shape result) {
        return 4 * operands.get(0).asArray().elements();
    }

    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        Literal x = operands.get(0).literal();
        return new BatchNorm(x.shape(), featureIndex)
                .normalized(
                        x,
                        operands.get(1).literal().doubles(),
                        operands.get(2).literal().doubles(),
                        operands.get(3).literal().doubles(),
                        operands.get(4).literal().doubles(),
                        epsilon);
    }
}
