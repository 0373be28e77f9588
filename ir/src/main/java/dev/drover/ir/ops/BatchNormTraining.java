package dev.drover.ir.ops;

import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.Shape;
import dev.drover.ir.type.TupleShape;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Normalizes by the statistics of the batch. Operands: array, scale {@code [F]}, offset {@code [F]}; results: the normalized array, mean
 * {@code [F]}, variance {@code [F]} (of the whole population).
 */
public record BatchNormTraining(double epsilon, int featureIndex) implements Op {
    static final OpKind KIND = new OpKind(
            "batch-norm-training",
            source -> new BatchNormTraining(BatchNorm.epsilon(source), source.integer("feature_index", -1)));

    @Override
    public String opcode() {
        return "batch-norm-training";
    }

    @Override
    public void print(OpWriter writer) {
        BatchNorm.print(writer, epsilon, featureIndex);
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        ArrayShape array = BatchNorm.check(this, operands, 3, featureIndex, List.of(1, 2));
        return new TupleShape(List.of(array, operands.get(1), operands.get(1)));
    }

    @Override
    public FactorRule factors(List<Shape> operands, Shape result) {
        return BatchNorm.rule(operands, result, featureIndex, Factor.Kind.WHOLE);
    }

    @Override
    public long flops(List<Shape> operands, Shape result) {
        return 8 * operands.get(0).asArray().elements();
    }

    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        Literal x = operands.get(0).literal();
        Literal scale = operands.get(1).literal();
        Literal offset = operands.get(2).literal();
        BatchNorm loops = new BatchNorm(x.shape(), featureIndex);
        double[] mean = loops.means(x.doubles());
        double[] variance = loops.variances(x.doubles(), mean);
        Literal y = loops.normalized(x, scale.doubles(), offset.doubles(), mean, variance, epsilon);
        return new Value.Tuple(
                List.of(y, Literal.ofDoubles(scale.shape(), mean), Literal.ofDoubles(scale.shape(), variance)));
    }

    @Override
    public List<@Nullable Instruction> vjp(
            VjpContext context, Instruction self, List<@Nullable Instruction> cotangents) {
        if (cotangents.get(1) != null || cotangents.get(2) != null) {
            throw new NoGradientException("The statistics of batch-norm-training (" + self.name()
                    + ") must not be on the way to the loss to have a gradient.");
        }
        Instruction dy = cotangents.get(0);
        if (dy == null) {
            return Arrays.asList(null, null, null);
        }
        OpBuilder build = context.build();
        Instruction gradients = build.builder()
                .add(
                        new BatchNormGrad(epsilon, featureIndex),
                        self.operand(0),
                        self.operand(1),
                        build.element(self, 1),
                        build.element(self, 2),
                        dy);
        return List.of(build.element(gradients, 0), build.element(gradients, 1), build.element(gradients, 2));
    }
}
