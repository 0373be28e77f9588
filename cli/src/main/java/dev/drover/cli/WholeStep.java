package dev.drover.cli;

import dev.drover.ir.eval.Evaluator;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.TrainingStep;
import dev.drover.plan.lower.PlanCompiler;
import dev.drover.plan.mesh.Mesh;
import dev.drover.plan.sharding.RandomStrategies;
import dev.drover.plan.sharding.Resharder;
import dev.drover.plan.stage.CutStep;
import dev.drover.plan.stage.StageAssignment;
import dev.drover.plan.task.ExecutionPlan;
import dev.drover.runtime.coordinator.Execution;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The unpartitioned step: what the plans must equal.
 *
 * @param worker starts one worker process; null if the reference evaluator computes
 */
record WholeStep(TrainingStep step, @Nullable Supplier<Workers> worker) {
    /** A step of more flops is not run by the reference evaluator unless it is asked for. */
    private static final double REFERENCE_FLOPS = 4e9;

    /** By the reference evaluator where the step is small or {@code inProcess}, else on one worker. */
    static WholeStep of(TrainingStep step, boolean inProcess, Supplier<Workers> worker) {
        double flops = step.graph().entry().instructions().stream()
                .mapToDouble(i -> i.op().flops(i.operandShapes(), i.shape()))
                .sum();
        return new WholeStep(step, inProcess || flops <= REFERENCE_FLOPS ? null : worker);
    }

    /** The outputs for some inputs. */
    List<Literal> outputs(ModelInputs inputs) {
        return outputs(List.of(step), List.of(inputs)).get(0);
    }

    /** The outputs of steps like this one, each for inputs of its own, computed where this one is. */
    List<List<Literal>> outputs(List<TrainingStep> steps, List<ModelInputs> inputs) {
        List<List<Literal>> out = new ArrayList<>();
        if (worker == null) {
            for (int i = 0; i < steps.size(); i++) {
                Value value = Evaluator.evaluate(
                        steps.get(i).graph().entry(), inputs.get(i).whole(steps.get(i), 0));
                out.add(
                        value instanceof Value.Tuple tuple
                                ? tuple.elements().stream().map(Value::literal).toList()
                                : List.of(value.literal()));
            }
            return out;
        }
        try (Workers process = worker.get()) {
            for (int i = 0; i < steps.size(); i++) {
                out.add(outputs(process.load(onOneDevice(steps.get(i)), inputs.get(i)), inputs.get(i), steps.get(i)));
            }
        }
        return out;
    }

    /** The outputs of one step of what is loaded. */
    static List<Literal> outputs(Execution execution, ModelInputs inputs, TrainingStep step) {
        Workers.feed(execution, inputs, 0, 1);
        execution.run(0, 1, reports -> {});
        List<Literal> out = new ArrayList<>();
        for (int i = 0; i < step.outputs().size(); i++) {
            out.add(execution.output(i));
        }
        return out;
    }

    private static ExecutionPlan onOneDevice(TrainingStep step) {
        Mesh one = Mesh.of();
        CutStep cut = PlanCompiler.cut(step, 1, 1);
        return PlanCompiler.compile(
                cut,
                StageAssignment.single(cut),
                RandomStrategies.draw(cut.computation(), PlanCompiler.updatedParameters(cut), one, 0),
                new Resharder(one, (kind, axis, bytes) -> 0),
                "1f1b");
    }
}
