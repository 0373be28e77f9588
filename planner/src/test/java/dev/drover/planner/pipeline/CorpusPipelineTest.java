package dev.drover.planner.pipeline;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.drover.importers.ModelFile;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.graph.TrainingStep;
import dev.drover.ir.pass.Flatten;
import dev.drover.plan.schedule.Schedules;
import dev.drover.plan.stage.CutStep;
import dev.drover.plan.stage.TimeCut;
import dev.drover.plan.task.ExecutionPlan;
import dev.drover.plan.task.ExecutionPlanBuilder;
import dev.drover.plan.task.LocalStep;
import dev.drover.plan.task.ReferenceRun;
import dev.drover.safetensors.Safetensors;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** JAX's training steps in two stages and micro-batches, against what XLA computed. */
class CorpusPipelineTest {
    private static final Path JAX = Path.of("..", "..", "shared", "corpus", "jax");

    @ParameterizedTest
    @CsvSource({"mlp8_tiny,4", "dlrm_tiny,2", "gpt_tiny_tied,2", "resnet_tiny,1"})
    void equalsWhatXlaComputed(String name, int microBatches) {
        Path folder = JAX.resolve(name);
        Assumptions.assumeTrue(Files.isDirectory(folder), "The model (" + folder + ") is not here.");
        TrainingStep loaded = ModelFile.load(folder.resolve("step.hlo"));
        TrainingStep step = Flatten.run(loaded);
        CutStep cut = TimeCut.cut(step, microBatches, true);
        ExecutionPlan plan = ExecutionPlanBuilder.build(
                LocalStep.ofOneDevice(cut),
                StagePlanner.plan(cut, 2).assignment(),
                Schedules.byName("1f1b").make(2, microBatches));
        Safetensors given = Safetensors.open(folder.resolve("in.safetensors"));
        Safetensors expected = Safetensors.open(folder.resolve("out_step1.safetensors"));
        List<Literal> inputs = new ArrayList<>();
        for (int i = 0; i < step.inputs().size(); i++) {
            inputs.add(given.literal(String.format(Locale.ROOT, "a%04d", i)));
        }
        List<Literal> outputs = ReferenceRun.run(plan, inputs, step.outputShapes());
        for (int i = 0; i < outputs.size(); i++) {
            Literal whole = expected.literal(String.format(Locale.ROOT, "o%04d", i));
            for (int k = 0; k < whole.size(); k++) {
                double value = whole.asDouble(k);
                assertThat(outputs.get(i).asDouble(k))
                        .as("output %d, element %d", i, k)
                        .isCloseTo(value, within(3e-3 + 1e-3 * Math.abs(value)));
            }
        }
    }
}
