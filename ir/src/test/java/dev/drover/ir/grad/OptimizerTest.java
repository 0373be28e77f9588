package dev.drover.ir.grad;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.drover.ir.eval.Evaluator;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.InputRole;
import dev.drover.ir.graph.OutputRole;
import dev.drover.ir.graph.TrainingStep;
import dev.drover.ir.ops.OpBuilder;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import java.util.ArrayList;
import java.util.List;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Test;

/** Against loops written by hand: two parameters, loss = sum of p * c, so that the gradient is the batch input c. */
final class OptimizerTest {
    private static final double[][] START = {{1, -2, 0.5}, {3, -0.25}};
    private static final int STEPS = 7;

    /** The gradient of parameter {@code p} at a step. */
    private static double[] gradient(int p, int step) {
        double[] g = new double[START[p].length];
        for (int i = 0; i < g.length; i++) {
            g[i] = Math.sin(1 + 3 * step + 5 * p + 7 * i);
        }
        return g;
    }

    private static double[][] trained(TrainingSteps.Options options, DType dtype) {
        List<TrainingSteps.Input> parameters = new ArrayList<>();
        List<TrainingSteps.Input> batch = new ArrayList<>();
        for (int p = 0; p < START.length; p++) {
            ArrayShape shape = ArrayShape.of(dtype, START[p].length);
            parameters.add(new TrainingSteps.Input("p" + p, shape));
            batch.add(new TrainingSteps.Input("c" + p, shape));
        }
        TrainingStep step = TrainingSteps.build(
                "step",
                parameters,
                batch,
                (gradients, values, data) -> {
                    OpBuilder ops = new OpBuilder(gradients.builder());
                    return ops.add(
                            ops.sumAll(ops.mul(values.get(0), data.get(0))),
                            ops.sumAll(ops.mul(values.get(1), data.get(1))));
                },
                options);
        List<Literal> inputs = new ArrayList<>();
        for (int i = 0; i < step.inputs().size(); i++) {
            ArrayShape shape = step.inputShapes().get(i);
            inputs.add(
                    step.inputs().get(i).kind() == InputRole.Kind.PARAMETER
                            ? Literal.ofDoubles(shape, START[i].clone())
                            : Literal.zeros(shape));
        }
        for (int t = 0; t < STEPS; t++) {
            List<Integer> batchInputs = step.inputs(InputRole.Kind.BATCH);
            for (int p = 0; p < START.length; p++) {
                inputs.set(
                        batchInputs.get(p), Literal.ofDoubles(ArrayShape.of(dtype, START[p].length), gradient(p, t)));
            }
            Value.Tuple outputs = (Value.Tuple) Evaluator.evaluate(step.graph().entry(), inputs);
            for (int i = 0; i < outputs.elements().size(); i++) {
                OutputRole role = step.outputs().get(i);
                if (role.kind() == OutputRole.Kind.UPDATE) {
                    inputs.set(role.input(), outputs.elements().get(i).literal());
                }
            }
        }
        return new double[][] {inputs.get(0).doubles(), inputs.get(1).doubles()};
    }

    private interface Loop {
        /** Changes parameter p by its gradient; step counts from 1. */
        void update(int p, int step, double[] parameter, double[] gradient);
    }

    private static void assertEqual(double[][] actual, Loop loop) {
        for (int p = 0; p < START.length; p++) {
            double[] expected = START[p].clone();
            for (int t = 0; t < STEPS; t++) {
                loop.update(p, t + 1, expected, gradient(p, t));
            }
            assertThat(actual[p]).containsExactly(expected, Offset.offset(1e-12));
        }
    }

    private static TrainingSteps.Options options(Optimizer optimizer) {
        return new TrainingSteps.Options(optimizer, LearningRate.constant(0.1));
    }

    @Test
    void plainDescent() {
        assertEqual(trained(options(Sgd.plain()), DType.F64), (p, t, w, g) -> {
            for (int i = 0; i < w.length; i++) {
                w[i] -= 0.1 * g[i];
            }
        });
    }

    @Test
    void momentumWithWeightDecay() {
        double[][] m = {new double[3], new double[2]};
        assertEqual(trained(options(new Sgd(0.9, false, 0.01)), DType.F64), (p, t, w, g) -> {
            for (int i = 0; i < w.length; i++) {
                m[p][i] = 0.9 * m[p][i] + g[i] + 0.01 * w[i];
                w[i] -= 0.1 * m[p][i];
            }
        });
    }

    @Test
    void nesterovMomentum() {
        double[][] m = {new double[3], new double[2]};
        assertEqual(trained(options(new Sgd(0.9, true, 0)), DType.F64), (p, t, w, g) -> {
            for (int i = 0; i < w.length; i++) {
                m[p][i] = 0.9 * m[p][i] + g[i];
                w[i] -= 0.1 * (g[i] + 0.9 * m[p][i]);
            }
        });
    }

    private static Loop adam(LearningRate rate, double decay) {
        double[][] m = {new double[3], new double[2]};
        double[][] v = {new double[3], new double[2]};
        return (p, t, w, g) -> {
            double lr = rate.peak();
            if (rate.warmupSteps() > 0) {
                lr *= Math.min(1, t / (double) rate.warmupSteps());
            }
            if (rate.decaySteps() > 0) {
                double done = Math.min(1, Math.max(0, (t - 1 - rate.warmupSteps()) / (double) rate.decaySteps()));
                lr *= rate.floor() + (1 - rate.floor()) * 0.5 * (1 + Math.cos(Math.PI * done));
            }
            for (int i = 0; i < w.length; i++) {
                m[p][i] = 0.9 * m[p][i] + 0.1 * g[i];
                v[p][i] = 0.99 * v[p][i] + 0.01 * g[i] * g[i];
                double mHat = m[p][i] / (1 - Math.pow(0.9, t));
                double vHat = v[p][i] / (1 - Math.pow(0.99, t));
                w[i] -= lr * (decay * w[i] + mHat / (Math.sqrt(vHat) + 1e-3));
            }
        };
    }

    @Test
    void adamCorrectsItsBias() {
        LearningRate rate = LearningRate.constant(0.1);
        assertEqual(trained(new TrainingSteps.Options(new Adam(0.9, 0.99, 1e-3, 0), rate), DType.F64), adam(rate, 0));
    }

    @Test
    void adamWithDecoupledDecayOnASchedule() {
        LearningRate rate = new LearningRate(0.1, 2, 3, 0.25);
        assertEqual(
                trained(new TrainingSteps.Options(new Adam(0.9, 0.99, 1e-3, 0.05), rate), DType.F64), adam(rate, 0.05));
    }

    @Test
    void gradientsAreClippedByTheirGlobalNorm() {
        TrainingSteps.Options options = new TrainingSteps.Options(Sgd.plain(), LearningRate.constant(0.1), 0.75, 64);
        assertEqual(trained(options, DType.F64), (p, t, w, g) -> {
            double squares = 0;
            for (int q = 0; q < 2; q++) {
                for (double x : gradient(q, t - 1)) {
                    squares += x * x;
                }
            }
            assertThat(Math.sqrt(squares)).isGreaterThan(0.75);
            for (int i = 0; i < w.length; i++) {
                w[i] -= 0.1 * g[i] * 0.75 / Math.sqrt(squares);
            }
        });
    }

    @Test
    void smallGradientsAreNotClipped() {
        TrainingSteps.Options options = new TrainingSteps.Options(Sgd.plain(), LearningRate.constant(0.1), 100, 1);
        assertEqual(trained(options, DType.F64), (p, t, w, g) -> {
            for (int i = 0; i < w.length; i++) {
                w[i] -= 0.1 * g[i];
            }
        });
    }

    @Test
    void theLossScaleLeavesNoTrace() {
        TrainingSteps.Options scaled = new TrainingSteps.Options(Sgd.plain(), LearningRate.constant(0.1), 0, 1024);
        assertThat(trained(scaled, DType.F64)).isDeepEqualTo(trained(options(Sgd.plain()), DType.F64));
    }

    @Test
    void narrowParametersAreUpdatedInSingle() {
        double[][] narrow = trained(options(new Adam(0.9, 0.99, 1e-3, 0)), DType.BF16);
        double[][] wide = trained(options(new Adam(0.9, 0.99, 1e-3, 0)), DType.F64);
        for (int p = 0; p < 2; p++) {
            assertThat(narrow[p]).containsExactly(wide[p], Offset.offset(0.05));
        }
    }

    @Test
    void constantsOutOfRangeAreRefused() {
        assertThatThrownBy(() -> new Adam(1, 0.9, 0, 0)).hasMessageContaining("must lie in [0, 1)");
        assertThatThrownBy(() -> new Sgd(0, true, 0)).hasMessageContaining("Nesterov");
        assertThatThrownBy(() -> new LearningRate(-1, 0, 0, 1)).hasMessageContaining("must not be negative");
        assertThatThrownBy(() -> new TrainingSteps.Options(Sgd.plain(), LearningRate.constant(1), 0, 0))
                .hasMessageContaining("loss scale (0.0) above 0");
    }
}
