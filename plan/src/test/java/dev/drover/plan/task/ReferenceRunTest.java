package dev.drover.plan.task;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.drover.ir.eval.Evaluator;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.ComputationBuilder;
import dev.drover.ir.graph.Graph;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.graph.OutputRole;
import dev.drover.ir.graph.TrainingStep;
import dev.drover.ir.ops.Parameter;
import dev.drover.plan.ChainModel;
import dev.drover.plan.schedule.ScheduleKind;
import dev.drover.plan.schedule.Schedules;
import dev.drover.plan.stage.CutStep;
import dev.drover.plan.stage.Passes;
import dev.drover.plan.stage.StageAssignment;
import dev.drover.plan.stage.TimeCut;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ReferenceRunTest {

    static void assertEqualToWhole(TrainingStep step, ExecutionPlan plan, double tolerance) {
        List<Literal> inputs = ChainModel.inputs(step, 7);
        List<Value> whole = ((Value.Tuple) Evaluator.evaluate(step.graph().entry(), inputs)).elements();
        List<Literal> parts = ReferenceRun.run(plan, inputs, step.outputShapes());
        assertThat(parts).hasSameSizeAs(whole);
        for (int i = 0; i < parts.size(); i++) {
            Literal expected = whole.get(i).literal();
            assertThat(parts.get(i).shape()).isEqualTo(expected.shape());
            for (int k = 0; k < expected.size(); k++) {
                assertThat(parts.get(i).asDouble(k))
                        .as("output %d, element %d", i, k)
                        .isCloseTo(expected.asDouble(k), within(tolerance));
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"1", "2", "4", "8"})
    void microBatchesGiveTheSameStep(int microBatches) {
        for (TrainingStep step : List.of(ChainModel.step(3, 8, 6), ChainModel.tied(3, 8, 6))) {
            for (boolean joinLate : new boolean[] {false, true}) {
                CutStep cut = TimeCut.cut(step, microBatches, joinLate);
                for (ScheduleKind kind : Schedules.ALL) {
                    ExecutionPlan plan = ExecutionPlanBuilder.build(
                            LocalStep.ofOneDevice(cut), StageAssignment.single(cut), kind.make(1, microBatches));
                    assertEqualToWhole(step, plan, 1e-5);
                }
            }
        }
    }

    /** An output that is made in the forward pass and read in the backward pass is taken after it was read. */
    @ParameterizedTest
    @CsvSource({"1", "2", "4"})
    void outputsThatTheBackwardPassReads(int microBatches) {
        TrainingStep chain = ChainModel.step(3, 8, 6);
        ComputationBuilder builder = new ComputationBuilder("chain");
        List<Instruction> copies = new ArrayList<>();
        Instruction error = null;
        for (Instruction instruction : chain.graph().entry().instructions()) {
            List<Instruction> operands = new ArrayList<>(
                    instruction.operands().stream().map(o -> copies.get(o.id())).toList());
            if (instruction == chain.graph().entry().root()) {
                operands.add(java.util.Objects.requireNonNull(error));
                copies.add(builder.add(new dev.drover.ir.ops.Tuple(operands.size()), operands));
            } else {
                copies.add(builder.add(instruction.op(), operands, instruction.name(), instruction.annotations()));
                boolean first = error == null && instruction.op().opcode().equals("subtract");
                error = first ? copies.get(instruction.id()) : error;
            }
        }
        List<OutputRole> outputs = new ArrayList<>(chain.outputs());
        outputs.add(OutputRole.METRIC);
        Graph graph = new Graph("chain", builder.build(copies.get(copies.size() - 1)));
        TrainingStep step = new TrainingStep(graph, chain.inputs(), outputs);
        CutStep cut = TimeCut.cut(step, microBatches, false);
        for (ScheduleKind kind : Schedules.ALL) {
            ExecutionPlan plan = ExecutionPlanBuilder.build(
                    LocalStep.ofOneDevice(cut), StageAssignment.single(cut), kind.make(1, microBatches));
            assertEqualToWhole(step, plan, 1e-5);
        }
    }

    /** Large parameters are updated one after the other, each as soon as nobody needs the old value. */
    @Test
    void optimizerGoesPieceByPiece() {
        TrainingStep step = ChainModel.step(3, 4, 40);
        CutStep cut = TimeCut.cut(step, 2, false);
        ExecutionPlan plan = ExecutionPlanBuilder.build(
                LocalStep.ofOneDevice(cut),
                StageAssignment.single(cut),
                Schedules.byName("1f1b").make(1, 2));
        assertEqualToWhole(step, plan, 1e-5);
        List<Task> tasks = plan.workers().get(0).tasks();
        int firstUpdate = 0;
        int lastRun = 0;
        for (int i = tasks.size() - 1; i >= 0; i--) {
            firstUpdate = tasks.get(i) instanceof Task.Update ? i : firstUpdate;
            lastRun = lastRun == 0 && tasks.get(i) instanceof Task.Run ? i : lastRun;
        }
        assertThat(firstUpdate).isPositive().isLessThan(lastRun);
    }

    @Test
    void memoryOfMicroBatchesIsFreed() {
        CutStep cut = TimeCut.cut(ChainModel.step(3, 8, 6), 4, true);
        ExecutionPlan plan = ExecutionPlanBuilder.build(
                LocalStep.ofOneDevice(cut),
                StageAssignment.single(cut),
                Schedules.byName("1f1b").make(1, 4));
        assertThat(plan.workers().get(0).tasks().stream()
                        .filter(Task.Free.class::isInstance)
                        .count())
                .isGreaterThan(4);
        List<Integer> perMicroBatch = new ArrayList<>();
        for (Instruction instruction : cut.computation().instructions()) {
            if (instruction.op() instanceof Parameter && cut.perMicroBatch(instruction.id())) {
                perMicroBatch.add(Math.toIntExact(instruction.array().dim(0)));
            }
        }
        assertThat(perMicroBatch).containsExactly(2, 2);
        assertThat(Passes.of(cut)).contains(dev.drover.plan.stage.Phase.BACKWARD);
    }
}
