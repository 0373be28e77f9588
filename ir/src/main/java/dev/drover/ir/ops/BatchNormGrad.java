package dev.drover.ir.ops;

import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.Shape;
import dev.drover.ir.type.TupleShape;
import java.util.List;

/**
 * The gradient of {@link BatchNormTraining}. Operands: array, scale {@code [F]}, mean {@code [F]}, variance {@code [F]}, gradient of the
 * normalized array; results: gradients of array, scale and offset.
 */
public record BatchNormGrad(double epsilon, int featureIndex) implements Op {
    static final OpKind KIND = new OpKind(
            "batch-norm-grad",
            source -> new BatchNormGrad(BatchNorm.epsilon(source), source.integer("feature_index", -1)));

    @Override
    public String opcode() {
        return "batch-norm-grad";
    }

    @Override
    public void print(OpWriter writer) {
        BatchNorm.print(writer, epsilon, featureIndex);
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        ArrayShape array = BatchNorm.check(this, operands, 5, featureIndex, List.of(1, 2, 3));
        Check.that(
                operands.get(4).equals(array),
                "The gradient (%s) of batch-norm-grad must have the shape of its operand (%s).",
                operands.get(4),
                array);
        return new TupleShape(List.of(array, operands.get(1), operands.get(1)));
    }

    @Override
    public FactorRule factors(List<Shape> operands, Shape result) {
        return BatchNorm.rule(operands, result, featureIndex, Factor.Kind.WHOLE);
    }

    @Override
    public List<java.util.Set<Integer>> linearGroups() {
        return List.of(java.util.Set.of(4));
    }

    @Override
    public long flops(List<Shape> operands, Shape result) {
        return 12 * operands.get(0).asArray().elements();
    }

    /**
     * With {@code h = (x - mean) / s}, {@code s = sqrt(variance + epsilon)} and the mean over all elements of a feature written {@code E}:
     * {@code dx = scale / s * (dy - E[dy] - h * E[dy * h])}, {@code dscale = sum(dy * h)}, {@code doffset = sum(dy)}.
     */
    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        Literal x = operands.get(0).literal();
        Literal scale = operands.get(1).literal();
        double[] mean = operands.get(2).literal().doubles();
        double[] variance = operands.get(3).literal().doubles();
        double[] dy = operands.get(4).literal().doubles();
        BatchNorm loops = new BatchNorm(x.shape(), featureIndex);
        double[] hat = new double[dy.length];
        double[] dScale = new double[loops.features()];
        double[] dOffset = new double[loops.features()];
        for (int i = 0; i < dy.length; i++) {
            int f = loops.feature(i);
            hat[i] = (x.doubles()[i] - mean[f]) / Math.sqrt(variance[f] + epsilon);
            dScale[f] += dy[i] * hat[i];
            dOffset[f] += dy[i];
        }
        double[] dx = new double[dy.length];
        for (int i = 0; i < dy.length; i++) {
            int f = loops.feature(i);
            dx[i] = scale.doubles()[f]
                    / Math.sqrt(variance[f] + epsilon)
                    * (dy[i] - dOffset[f] / loops.count() - hat[i] * dScale[f] / loops.count());
        }
        return new Value.Tuple(List.of(
                Literal.ofDoubles(x.shape(), dx),
                Literal.ofDoubles(scale.shape(), dScale),
                Literal.ofDoubles(scale.shape(), dOffset)));
    }
}
