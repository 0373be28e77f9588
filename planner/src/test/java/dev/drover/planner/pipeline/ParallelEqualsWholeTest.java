package dev.drover.planner.pipeline;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import dev.drover.ir.UserError;
import dev.drover.ir.eval.Evaluator;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.InputRole;
import dev.drover.ir.graph.TrainingStep;
import dev.drover.ir.type.ArrayShape;
import dev.drover.models.Zoo;
import dev.drover.plan.lower.PlanCompiler;
import dev.drover.plan.memory.DeviceMemory;
import dev.drover.plan.memory.WorkerLayout;
import dev.drover.plan.mesh.Mesh;
import dev.drover.plan.schedule.Schedules;
import dev.drover.plan.sharding.RandomStrategies;
import dev.drover.plan.sharding.Resharder;
import dev.drover.plan.sharding.ShardingDecisions;
import dev.drover.plan.stage.CutStep;
import dev.drover.plan.stage.StageAssignment;
import dev.drover.plan.stage.TimeCut;
import dev.drover.plan.task.ExecutionPlan;
import dev.drover.plan.task.ExecutionPlanBuilder;
import dev.drover.plan.task.LocalStep;
import dev.drover.plan.task.ReferenceRun;
import dev.drover.plan.task.Task;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Models of the zoo, cut into micro-batches and stages and run by threads, against their whole step. */
class ParallelEqualsWholeTest {
    private static final String GPT = "gpt:layers=2,hidden=16,heads=2,seq=8,batch=4,vocab=32";
    private static final String UNTIED = GPT + ",tied=false";
    private static final String UNET = "unet:size=8,width=8,levels=2,batch=4";
    private static final String MOE = "moe:layers=2,hidden=16,seq=8,batch=4";
    private static final String MLP = "mlp:layers=4,hidden=16,batch=8,features=8";

    private static List<Literal> inputs(TrainingStep step, long seed) {
        Random random = new Random(seed);
        List<Literal> out = new ArrayList<>();
        for (int i = 0; i < step.inputs().size(); i++) {
            ArrayShape shape = step.inputShapes().get(i);
            InputRole.Kind kind = step.inputs().get(i).kind();
            int n = Math.toIntExact(shape.elements());
            if (!shape.dtype().isFloat()) {
                long[] values = new long[n];
                for (int k = 0; k < n; k++) {
                    values[k] = kind == InputRole.Kind.BATCH ? random.nextInt(8) : 1;
                }
                out.add(Literal.ofLongs(shape, values));
                continue;
            }
            double[] values = new double[n];
            for (int k = 0; k < n; k++) {
                double value = random.nextGaussian() * 0.1;
                values[k] = kind == InputRole.Kind.OPTIMIZER_STATE ? Math.abs(value) : value;
            }
            out.add(Literal.ofDoubles(shape, values));
        }
        return out;
    }

    private static void check(TrainingStep step, int microBatches, int stages, String schedule) {
        CutStep cut = TimeCut.cut(step, microBatches, stages > 1);
        ExecutionPlan plan = ExecutionPlanBuilder.build(
                LocalStep.ofOneDevice(cut),
                StagePlanner.plan(cut, stages).assignment(),
                Schedules.byName(schedule).make(stages, microBatches));
        checkValues(step, plan);
    }

    private static void checkValues(TrainingStep step, ExecutionPlan plan) {
        checkValues(step, plan, inputs(step, 11));
    }

    private static void checkValues(TrainingStep step, ExecutionPlan plan, List<Literal> inputs) {
        List<Value> whole = ((Value.Tuple) Evaluator.evaluate(step.graph().entry(), inputs)).elements();
        List<Literal> parts = ReferenceRun.run(plan, inputs, step.outputShapes());
        for (int i = 0; i < parts.size(); i++) {
            Literal expected = whole.get(i).literal();
            for (int k = 0; k < expected.size(); k++) {
                double value = expected.asDouble(k);
                if (!Double.isFinite(value)) {
                    assertThat(parts.get(i).asDouble(k))
                            .as("output %d, element %d", i, k)
                            .isEqualTo(Double.valueOf(value));
                    continue;
                }
                assertThat(parts.get(i).asDouble(k))
                        .as("output %d, element %d", i, k)
                        .isCloseTo(value, within(1e-5 + 1e-4 * Math.abs(value)));
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"1,1", "1,4", "2,1", "2,2", "4,2", "4,4"})
    void gpt(int microBatches, int stages) {
        check(Zoo.parse(GPT).step(), microBatches, stages, "1f1b");
    }

    /** Random shardings move values all the time; gathering them where they are used must change memory, not values. */
    @ParameterizedTest
    @CsvSource({"1,1", "2,1", "4,2"})
    void gptWhoseValuesAreGatheredPerPhase(int microBatches, int stages) {
        TrainingStep step = Zoo.parse(GPT).step();
        CutStep cut = TimeCut.cut(step, microBatches, stages > 1);
        StageAssignment assignment = StagePlanner.plan(cut, stages).assignment();
        Mesh mesh = Mesh.of(2);
        long bytesOnce = 0;
        long bytesPerPhase = 0;
        for (long seed = 1; seed <= 4; seed++) {
            ShardingDecisions decisions =
                    RandomStrategies.draw(cut.computation(), PlanCompiler.updatedParameters(cut), mesh, seed);
            Resharder resharder = new Resharder(mesh, (kind, axis, bytes) -> 1000 + bytes);
            ExecutionPlan once = PlanCompiler.compile(cut, assignment, decisions, resharder, "1f1b", false);
            ExecutionPlan perPhase = PlanCompiler.compile(cut, assignment, decisions, resharder, "1f1b", true);
            checkValues(step, perPhase);
            bytesOnce += WorkerLayout.of(once, once.workers().get(0), DeviceMemory.ESTIMATE)
                    .totalBytes();
            bytesPerPhase += WorkerLayout.of(perPhase, perPhase.workers().get(0), DeviceMemory.ESTIMATE)
                    .totalBytes();
        }
        assertThat(bytesPerPhase).isLessThan(bytesOnce);
    }

    @ParameterizedTest
    @CsvSource({"4,2,gpipe", "4,3,eager-1f1b", "4,2,kfkb:2"})
    void untiedGptUnderOtherSchedules(int microBatches, int stages, String schedule) {
        check(Zoo.parse(UNTIED).step(), microBatches, stages, schedule);
    }

    @ParameterizedTest
    @CsvSource({"1,2", "8,1", "8,4"})
    void mlp(int microBatches, int stages) {
        check(Zoo.parse(MLP).step(), microBatches, stages, "1f1b");
    }

    /** An infinity or NaN among a step's inputs, random shardings: each result is NaN, infinite or finite as in the whole step. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {GPT + "|2|2", MLP + "|4|2", UNET + "|2|1", MOE + "|1|1"})
    void specialValuesComeOutAsInTheWholeStep(String model, int microBatches, int stages) {
        TrainingStep step = Zoo.parse(model).step();
        CutStep cut = TimeCut.cut(step, microBatches, stages > 1);
        StageAssignment assignment = StagePlanner.plan(cut, stages).assignment();
        Mesh mesh = Mesh.of(2);
        Resharder resharder = new Resharder(mesh, (kind, axis, bytes) -> 1000 + bytes);
        for (long seed = 1; seed <= 4; seed++) {
            ShardingDecisions decisions =
                    RandomStrategies.draw(cut.computation(), PlanCompiler.updatedParameters(cut), mesh, seed);
            ExecutionPlan plan = PlanCompiler.compile(cut, assignment, decisions, resharder, "1f1b", false);
            checkValues(step, plan, withOneSpecial(inputs(step, seed), new Random(seed)));
        }
    }

    private static List<Literal> withOneSpecial(List<Literal> inputs, Random random) {
        List<Literal> out = new ArrayList<>(inputs);
        while (true) {
            int i = random.nextInt(inputs.size());
            if (inputs.get(i).dtype().isFloat() && inputs.get(i).size() > 1) {
                double[] values = inputs.get(i).doubles().clone();
                double[] special = {Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY};
                values[random.nextInt(values.length)] = special[random.nextInt(special.length)];
                out.set(i, Literal.ofDoubles(inputs.get(i).shape(), values));
                return out;
            }
        }
    }

    /** The owner of the embedding sends it once per step; its gradients are sent once per step too. */
    @Test
    void tiedEmbeddingMovesOncePerStep() {
        CutStep cut = TimeCut.cut(Zoo.parse(GPT).step(), 4, true);
        ExecutionPlan plan = ExecutionPlanBuilder.build(
                LocalStep.ofOneDevice(cut),
                StagePlanner.plan(cut, 2).assignment(),
                Schedules.byName("1f1b").make(2, 4));
        ArrayShape embedding = ArrayShape.of(dev.drover.ir.type.DType.F32, 32, 16);
        List<Task.Send> sends = new ArrayList<>();
        plan.workers()
                .forEach(worker -> worker.tasks().forEach(task -> {
                    if (task instanceof Task.Send send
                            && send.shape().elements() == embedding.elements()
                            && send.shape().dims()[0] != 1) {
                        sends.add(send);
                    }
                }));
        assertThat(sends).hasSize(2).allMatch(send -> send.microBatch() == -1);
    }

    @Test
    void batchesThatDoNotDivideAreRefused() {
        TrainingStep step = Zoo.parse(MLP).step();
        assertThatThrownBy(() -> TimeCut.cut(step, 5, false))
                .isInstanceOf(UserError.class)
                .hasMessageContaining("The micro-batches (5)")
                .hasMessageContaining("must divide the batch (8)")
                .hasMessageContaining("Maybe use --micro-batches 4.");
    }

    @Test
    void moreStagesThanWorkIsRefused() {
        CutStep cut = TimeCut.cut(
                Zoo.parse("mlp:layers=1,hidden=4,batch=2,features=4").step(), 1, true);
        assertThatThrownBy(() -> StagePlanner.plan(cut, 64))
                .isInstanceOf(UserError.class)
                .hasMessageContaining("The stages (64)");
    }
}
