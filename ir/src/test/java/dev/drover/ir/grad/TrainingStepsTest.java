package dev.drover.ir.grad;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.drover.ir.UserError;
import dev.drover.ir.eval.Evaluator;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.ComputationBuilder;
import dev.drover.ir.graph.Graph;
import dev.drover.ir.graph.InputRole;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.graph.OutputRole;
import dev.drover.ir.graph.TrainingStep;
import dev.drover.ir.ops.Call;
import dev.drover.ir.ops.OpBuilder;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import java.util.List;
import org.junit.jupiter.api.Test;

final class TrainingStepsTest {
    private static final ArrayShape VECTOR = ArrayShape.of(DType.F64, 2);
    private static final TrainingSteps.Options DESCENT =
            new TrainingSteps.Options(Sgd.plain(), LearningRate.constant(0.5));

    /** {@code (x, w, b) -> (prediction, sum (w x + b)^2)}, with the square in a computation of its own. */
    private static TrainingStep forward(List<OutputRole> outputs) {
        ComputationBuilder square = new ComputationBuilder("square");
        Instruction p = square.parameter("p", VECTOR);
        Computation squared = square.build(new OpBuilder(square).mul(p, p));
        ComputationBuilder builder = new ComputationBuilder("main");
        OpBuilder ops = new OpBuilder(builder);
        Instruction x = builder.parameter("x", VECTOR);
        Instruction w = builder.parameter("w", VECTOR);
        Instruction b = builder.parameter("b", VECTOR);
        Instruction prediction = ops.add(ops.mul(w, x), b);
        Instruction loss = ops.sumAll(builder.add(new Call(squared), prediction));
        return new TrainingStep(
                new Graph("line", builder.build(ops.tuple(prediction, loss))),
                List.of(
                        new InputRole(InputRole.Kind.BATCH, "x"),
                        new InputRole(InputRole.Kind.PARAMETER, "w"),
                        new InputRole(InputRole.Kind.PARAMETER, "b")),
                outputs);
    }

    @Test
    void aForwardGraphBecomesAStepWithParametersFirst() {
        TrainingStep step = TrainingSteps.of(forward(List.of(OutputRole.METRIC, OutputRole.LOSS)), DESCENT);
        assertThat(step.inputs())
                .containsExactly(
                        new InputRole(InputRole.Kind.PARAMETER, "w"),
                        new InputRole(InputRole.Kind.PARAMETER, "b"),
                        new InputRole(InputRole.Kind.BATCH, "x"));
        assertThat(step.outputs()).containsExactly(OutputRole.update(0), OutputRole.update(1), OutputRole.LOSS);
        assertThat(step.graph().aliases())
                .containsExactly(
                        new Graph.Alias(List.of(0), 0, List.of(), false),
                        new Graph.Alias(List.of(1), 1, List.of(), false));
        Value.Tuple result = (Value.Tuple)
                Evaluator.evaluate(step.graph().entry(), List.of(vector(3, -1), vector(1, 1), vector(2, 4)));
        // w x + b = (7, -3); d/dw = 2 (w x + b) x = (28, -24), d/db = (14, -6).
        assertThat(result.elements())
                .containsExactly(vector(3 - 14, -1 + 12), vector(1 - 7, 1 + 3), Literal.scalar(DType.F64, 58));
    }

    private static Literal vector(double a, double b) {
        return Literal.ofDoubles(VECTOR, new double[] {a, b});
    }

    @Test
    void aForwardGraphWithoutALossIsRefused() {
        TrainingStep forward = forward(List.of(OutputRole.METRIC, OutputRole.METRIC));
        assertThatThrownBy(() -> TrainingSteps.of(forward, DESCENT))
                .isInstanceOf(UserError.class)
                .hasMessage("The outputs (2) of graph (line) must include a loss.");
    }
}
