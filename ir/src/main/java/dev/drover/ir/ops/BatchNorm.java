package dev.drover.ir.ops;

import dev.drover.ir.eval.Literal;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.Shape;
import java.util.ArrayList;
import java.util.List;

/** What the three batch normalization ops share: the loops and the dims. */
final class BatchNorm {
    private final ArrayShape shape;
    private final int features;
    private final int stride;

    BatchNorm(ArrayShape shape, int featureIndex) {
        this.shape = shape;
        this.features = (int) shape.dim(featureIndex);
        this.stride = (int) shape.strides()[featureIndex];
    }

    /** The feature of the element at an offset. */
    int feature(int offset) {
        return offset / stride % features;
    }

    int features() {
        return features;
    }

    int size() {
        return (int) shape.elements();
    }

    /** Elements of one feature. */
    double count() {
        return (double) size() / features;
    }

    /** Mean by feature. */
    double[] means(double[] values) {
        double[] sums = new double[features];
        for (int i = 0; i < values.length; i++) {
            sums[feature(i)] += values[i];
        }
        for (int f = 0; f < features; f++) {
            sums[f] /= count();
        }
        return sums;
    }

    /** Variance (of the whole population) by feature. */
    double[] variances(double[] values, double[] means) {
        double[] sums = new double[features];
        for (int i = 0; i < values.length; i++) {
            double distance = values[i] - means[feature(i)];
            sums[feature(i)] += distance * distance;
        }
        for (int f = 0; f < features; f++) {
            sums[f] /= count();
        }
        return sums;
    }

    /** {@code (x - mean) / sqrt(variance + epsilon) * scale + offset} by feature. */
    Literal normalized(Literal x, double[] scale, double[] offset, double[] mean, double[] variance, double epsilon) {
        double[] out = new double[size()];
        for (int i = 0; i < out.length; i++) {
            int f = feature(i);
            out[i] = (x.asDouble(i) - mean[f]) / Math.sqrt(variance[f] + epsilon) * scale[f] + offset[f];
        }
        return Literal.ofDoubles(shape, out);
    }

    /** Fails unless operand 0 is an array with the feature dim, and those listed are vectors over it. */
    static ArrayShape check(Op op, List<Shape> operands, int count, int featureIndex, List<Integer> vectors) {
        Check.count(op, operands, count);
        ArrayShape array = Check.array(op, operands, 0);
        Check.that(
                featureIndex >= 0 && featureIndex < array.rank(),
                "The feature_index (%s) of %s must be a dim of its operand (%s).",
                featureIndex,
                op.opcode(),
                array);
        for (int i : vectors) {
            ArrayShape vector = Check.array(op, operands, i);
            Check.that(
                    vector.rank() == 1 && vector.dim(0) == array.dim(featureIndex),
                    "The operand %s (%s) of %s must have an element for each feature of its operand (%s).",
                    i,
                    vector,
                    op.opcode(),
                    array);
        }
        return array;
    }

    /** The feature dim free, the other dims of one kind. */
    static FactorRule rule(List<Shape> operands, Shape result, int featureIndex, Factor.Kind others) {
        ArrayShape array = operands.get(0).asArray();
        FactorRule.Builder rule = new FactorRule.Builder();
        List<List<Integer>> dims = new ArrayList<>();
        for (int d = 0; d < array.rank(); d++) {
            Factor.Kind kind = d == featureIndex ? Factor.Kind.FREE : others;
            dims.add(array.dim(d) == 1 ? List.of() : List.of(rule.factor(array.dim(d), kind)));
        }
        List<List<Integer>> vector = List.of(dims.get(featureIndex));
        for (Shape operand : operands) {
            rule.operand(operand.asArray().rank() == 1 && array.rank() > 1 ? vector : dims);
        }
        for (ArrayShape leaf : result.leaves()) {
            rule.result(leaf.rank() == 1 && array.rank() > 1 ? vector : dims);
        }
        return rule.build();
    }

    static double epsilon(OpSource source) {
        String text = source.need("epsilon");
        try {
            return Double.parseDouble(text.trim());
        } catch (NumberFormatException e) {
            throw new AttributeException("epsilon", "The epsilon (" + text + ") must be a number.");
        }
    }

    static void print(OpWriter writer, double epsilon, int featureIndex) {
        writer.attribute("epsilon", Double.toString(epsilon).replace('E', 'e'));
        writer.attribute("feature_index", Integer.toString(featureIndex));
    }
}
