package dev.drover.plan.stage;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import dev.drover.ir.UserError;
import dev.drover.ir.eval.Evaluator;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Graph;
import dev.drover.ir.graph.InputRole;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.graph.OutputRole;
import dev.drover.ir.graph.TrainingStep;
import dev.drover.ir.text.HloReader;
import dev.drover.plan.ChainModel;
import dev.drover.plan.schedule.Schedules;
import dev.drover.plan.task.ExecutionPlan;
import dev.drover.plan.task.ExecutionPlanBuilder;
import dev.drover.plan.task.LocalStep;
import dev.drover.plan.task.ReferenceRun;
import dev.drover.plan.task.TensorSlice;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class TimeCutTest {
    private static final String SUM =
            "HloModule step\n\nsum {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b)\n}\n\n";

    /** Inputs are called by the first letters of the roles: p(arameter), x or y (batch); the last output is the loss. */
    private static TrainingStep step(String inputs, int outputs, String body) {
        Graph graph = HloReader.read("step", SUM + "ENTRY main {\n" + body + "}\n");
        List<InputRole> roles = new ArrayList<>();
        for (int i = 0; i < inputs.length(); i++) {
            InputRole.Kind kind = inputs.charAt(i) == 'p' ? InputRole.Kind.PARAMETER : InputRole.Kind.BATCH;
            roles.add(new InputRole(kind, inputs.charAt(i) + "" + i));
        }
        List<OutputRole> results = new ArrayList<>();
        for (int i = 0; i < outputs - 1; i++) {
            results.add(OutputRole.METRIC);
        }
        results.add(OutputRole.LOSS);
        return new TrainingStep(graph, roles, results);
    }

    private static void assertSameInMicroBatches(TrainingStep step, int microBatches) {
        CutStep cut = TimeCut.cut(step, microBatches, false);
        ExecutionPlan plan = ExecutionPlanBuilder.build(
                LocalStep.ofOneDevice(cut),
                StageAssignment.single(cut),
                Schedules.byName("1f1b").make(1, microBatches));
        List<Literal> inputs = ChainModel.inputs(step, 3);
        List<Value> whole = ((Value.Tuple) Evaluator.evaluate(step.graph().entry(), inputs)).elements();
        List<Literal> parts = ReferenceRun.run(plan, inputs, step.outputShapes());
        for (int i = 0; i < parts.size(); i++) {
            Literal expected = whole.get(i).literal();
            for (int k = 0; k < expected.size(); k++) {
                assertThat(parts.get(i).asDouble(k))
                        .as("output %d, element %d", i, k)
                        .isCloseTo(expected.asDouble(k), within(1e-5));
            }
        }
    }

    private static final String BATCH_STATISTICS = """
              x = f32[8,4] parameter(0)
              zero = f32[] constant(0)
              mean = f32[4] reduce(x, zero), dimensions={0}, to_apply=sum
              w = f32[4] parameter(1)
              scaled = f32[4] multiply(mean, w)
              wide = f32[8,4] broadcast(scaled), dimensions={1}
              centred = f32[8,4] subtract(x, wide), metadata={op_name="norm/sub" source_file="norm.py" source_line=7}
              squared = f32[8,4] multiply(centred, centred)
              rows = f32[8] reduce(squared, zero), dimensions={1}, to_apply=sum
              norms = f32[8,4] broadcast(rows), dimensions={0}
              unit = f32[8,4] divide(centred, norms)
              loss = f32[] reduce(unit, zero), dimensions={0,1}, to_apply=sum
              ROOT out = (f32[]) tuple(loss)
            """;

    @Test
    void batchStatisticsAreRefusedByName() {
        TrainingStep step = step("xp", 1, BATCH_STATISTICS);
        assertThatThrownBy(() -> TimeCut.cut(step, 2, false))
                .isInstanceOf(UserError.class)
                .hasMessageContaining("to be cut into 2 micro-batches")
                .hasMessageContaining("The op (subtract) of instruction (centred) [norm/sub, norm.py:7]")
                .hasMessageContaining("(batch statistics).\n")
                .hasMessageContaining("operand (wide) is made from all samples")
                .hasMessageContaining("Maybe plan with --micro-batches 1, or, where an input is no batch, say so")
                .hasMessageContaining("MODEL.roles.json beside the model, as in {\"inputs\": {\"x0\": \"OTHER\"}}.");
        assertSameInMicroBatches(step, 1);
    }

    /** Each refusal that roles which were found wrongly can cause says where they are corrected, and which option does without. */
    @Test
    void wrongRolesAreToldHowToCorrectThem() {
        String body = """
                  x = f32[8] parameter(0)
                  y = f32[6] parameter(1)
                  w = f32[] parameter(2)
                  zero = f32[] constant(0)
                  a = f32[] reduce(x, zero), dimensions={0}, to_apply=sum
                  b = f32[] reduce(y, zero), dimensions={0}, to_apply=sum
                  c = f32[] add(a, b)
                  loss = f32[] multiply(c, w)
                  ROOT out = (f32[]) tuple(loss)
                """;
        TrainingStep found = step("xyp", 1, body);
        assertThatThrownBy(() -> TimeCut.cut(found, 4, false))
                .isInstanceOf(UserError.class)
                .hasMessageContaining("must divide the batch (6) of input (y1)")
                .hasMessageEndingWith("Maybe use --micro-batches 3, or, where it is no batch, say so in the file"
                        + " MODEL.roles.json beside the model, as in {\"inputs\": {\"y1\": \"OTHER\"}}.");
        assertThatThrownBy(() -> TimeCut.cut(found, 3, false))
                .isInstanceOf(UserError.class)
                .hasMessageContaining("must divide the batch (8) of input (x0)")
                .hasMessageEndingWith("Maybe use --micro-batches 2.");
        List<InputRole> none = found.inputs().stream()
                .map(role -> new InputRole(
                        role.kind() == InputRole.Kind.BATCH ? InputRole.Kind.OTHER : role.kind(), role.name()))
                .toList();
        TrainingStep without = new TrainingStep(found.graph(), none, found.outputs());
        assertThatThrownBy(() -> TimeCut.cut(without, 2, false))
                .isInstanceOf(UserError.class)
                .hasMessageContaining("must have a batch input")
                .hasMessageEndingWith("Maybe say which it is in the file MODEL.roles.json beside the model, as in"
                        + " {\"inputs\": {\"x0\": \"BATCH\"}}, or plan with --micro-batches 1.");
    }

    /** A count over the whole batch that depends on data alone is made beforehand, from the whole batch. */
    @Test
    void statisticsOfTheDataAloneAreMadeBeforehand() {
        TrainingStep step = step("xyp", 1, """
                  x = f32[8,4] parameter(0)
                  mask = f32[8] parameter(1)
                  w = f32[4] parameter(2)
                  zero = f32[] constant(0)
                  count = f32[] reduce(mask, zero), dimensions={0}, to_apply=sum
                  z = f32[8] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
                  masked = f32[8] multiply(z, mask)
                  divisor = f32[8] broadcast(count), dimensions={}
                  each = f32[8] divide(masked, divisor)
                  squared = f32[8] multiply(each, each)
                  loss = f32[] reduce(squared, zero), dimensions={0}, to_apply=sum
                  ROOT out = (f32[]) tuple(loss)
                """);
        assertSameInMicroBatches(step, 4);
        CutStep cut = TimeCut.cut(step, 4, false);
        assertThat(cut.inputs()).contains(new CutStep.CutInput(1, null));
    }

    /** Values made once that meet samples are cut: an iota is computed in place, a parameter is sliced. */
    @Test
    void onceMadeValuesAreCutWhereTheyMeetSamples() {
        TrainingStep step = step("xp", 2, """
                  x = f32[8,4] parameter(0)
                  bias = f32[8,4] parameter(1)
                  count = f32[8,4] iota(), iota_dimension=0
                  zero = f32[] constant(0)
                  doubled = f32[8,4] add(bias, bias)
                  one = f32[8,4] add(x, doubled)
                  two = f32[8,4] multiply(one, count)
                  three = f32[8,4] add(two, bias)
                  flat = f32[32] reshape(three)
                  back = f32[2,16] reshape(flat)
                  loss = f32[] reduce(three, zero), dimensions={0,1}, to_apply=sum
                  ROOT out = (f32[2,16], f32[]) tuple(back, loss)
                """);
        assertSameInMicroBatches(step, 2);
        assertThatThrownBy(() -> TimeCut.cut(step, 3, false)).hasMessageContaining("Maybe use --micro-batches 2.");
    }

    /** The batch need not be the first dim: cutting the contracted one would leave all work behind it undone. */
    @Test
    void theDimThatCountsSamplesIsFound() {
        TrainingStep step = step("xpp", 2, """
                  x = f32[64,8] parameter(0)
                  w = f32[64,64] parameter(1)
                  u = f32[64,64] parameter(2)
                  zero = f32[] constant(0)
                  z = f32[8,64] dot(x, w), lhs_contracting_dims={0}, rhs_contracting_dims={0}
                  t = f32[8,64] tanh(z)
                  v = f32[8,64] dot(t, u), lhs_contracting_dims={1}, rhs_contracting_dims={0}
                  q = f32[8,64] tanh(v)
                  r = f32[8,64] dot(q, u), lhs_contracting_dims={1}, rhs_contracting_dims={0}
                  loss = f32[] reduce(r, zero), dimensions={0,1}, to_apply=sum
                  ROOT out = (f32[8,64], f32[]) tuple(r, loss)
                """);
        assertSameInMicroBatches(step, 4);
        CutStep cut = TimeCut.cut(step, 4, false);
        assertThat(cut.inputs()).contains(new CutStep.CutInput(0, new TensorSlice.Cut(1, 2, 4, 0)));
    }

    /** Gradients are accumulated before what is done to them alone; the optimizer is made once. */
    @Test
    void accumulatesEarlyAndOnce() {
        CutStep cut = TimeCut.cut(ChainModel.tied(2, 8, 4), 4, false);
        List<Instruction> accumulators = cut.computation().instructions().stream()
                .filter(FreeValues::isTaskWork)
                .toList();
        assertThat(accumulators).hasSize(3);
        assertThat(accumulators)
                .allMatch(a -> !cut.perMicroBatch(a.id())
                        && cut.perMicroBatch(a.operand(0).id()));
        CutStep joinLate = TimeCut.cut(ChainModel.tied(2, 8, 4), 4, true);
        assertThat(joinLate.computation().instructions().stream().filter(FreeValues::isTaskWork))
                .hasSize(4);
        assertThat(Passes.of(cut)).contains(Phase.FORWARD, Phase.BACKWARD, Phase.POST);
    }
}
