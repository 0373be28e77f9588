package dev.drover.ir.ops;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class NormTest {
    private static final double EPSILON = 0.1;

    private static Literal f64(Random random, long... dims) {
        ArrayShape shape = ArrayShape.of(DType.F64, dims);
        return Literal.ofDoubles(shape, random.doubles(shape.elements(), -2, 2).toArray());
    }

    /** x [2, 3, 4] with features along dim 1. */
    @Test
    void trainingNormalizesEachFeature() {
        Random random = new Random(8);
        Literal x = f64(random, 2, 3, 4);
        Literal scale = f64(random, 3);
        Literal offset = f64(random, 3);
        Value result = Apply.apply(new BatchNormTraining(EPSILON, 1), x, scale, offset);
        for (int f = 0; f < 3; f++) {
            double sum = 0;
            double squares = 0;
            for (int n = 0; n < 2; n++) {
                for (int i = 0; i < 4; i++) {
                    double v = x.asDouble((n * 3 + f) * 4 + i);
                    sum += v;
                    squares += v * v;
                }
            }
            double mean = sum / 8;
            double variance = squares / 8 - mean * mean;
            assertThat(Apply.element(result, 1).asDouble(f)).isEqualTo(mean, within(1e-12));
            assertThat(Apply.element(result, 2).asDouble(f)).isEqualTo(variance, within(1e-12));
            for (int i = 0; i < 4; i++) {
                int at = (3 + f) * 4 + i;
                double expected = scale.asDouble(f) * (x.asDouble(at) - mean) / Math.sqrt(variance + EPSILON)
                        + offset.asDouble(f);
                assertThat(Apply.element(result, 0).asDouble(at)).isEqualTo(expected, within(1e-12));
            }
        }
        Literal inference = Apply.literal(
                new BatchNormInference(EPSILON, 1),
                x,
                scale,
                offset,
                Apply.element(result, 1),
                Apply.element(result, 2));
        assertThat(inference).isEqualTo(Apply.element(result, 0));
    }

    /** Against central differences of sum(dy * y). */
    @Test
    void gradientFitsFiniteDifferences() {
        Random random = new Random(9);
        List<Literal> inputs = List.of(f64(random, 3, 2, 2), f64(random, 2), f64(random, 2));
        Literal dy = f64(random, 3, 2, 2);
        Value forward = Apply.apply(new BatchNormTraining(EPSILON, 1), inputs.get(0), inputs.get(1), inputs.get(2));
        Value gradients = Apply.apply(
                new BatchNormGrad(EPSILON, 1),
                inputs.get(0),
                inputs.get(1),
                Apply.element(forward, 1),
                Apply.element(forward, 2),
                dy);
        double h = 1e-5;
        for (int input = 0; input < 3; input++) {
            for (int i = 0; i < inputs.get(input).size(); i++) {
                double difference = (loss(inputs, dy, input, i, h) - loss(inputs, dy, input, i, -h)) / (2 * h);
                assertThat(Apply.element(gradients, input).asDouble(i)).isEqualTo(difference, within(1e-8));
            }
        }
    }

    private static double loss(List<Literal> inputs, Literal dy, int input, int element, double step) {
        Literal[] moved = inputs.stream().map(Folds::copy).toArray(Literal[]::new);
        moved[input].doubles()[element] += step;
        Literal y = Apply.element(Apply.apply(new BatchNormTraining(EPSILON, 1), moved), 0);
        double sum = 0;
        for (int i = 0; i < y.size(); i++) {
            sum += y.asDouble(i) * dy.asDouble(i);
        }
        return sum;
    }

    @Test
    void printsAttributes() {
        assertThat(Apply.printed(new BatchNormGrad(1e-12, 3))).isEqualTo("epsilon=1.0e-12, feature_index=3");
    }

    @Test
    void onlyFeaturesAreFree() {
        List<dev.drover.ir.type.Shape> operands =
                List.of(ArrayShape.of(DType.F32, 2, 3, 4), ArrayShape.of(DType.F32, 3), ArrayShape.of(DType.F32, 3));
        BatchNormTraining op = new BatchNormTraining(EPSILON, 1);
        assertThat(op.factors(operands, op.inferShape(operands)).toString())
                .isEqualTo("(a b c, b, b) -> a b c, b, b; a whole; c whole");
    }
}
