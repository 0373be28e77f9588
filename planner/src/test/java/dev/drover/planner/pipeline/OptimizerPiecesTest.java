package dev.drover.planner.pipeline;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.ir.graph.InputRole;
import dev.drover.ir.graph.TrainingStep;
import dev.drover.models.Zoo;
import dev.drover.plan.schedule.Schedules;
import dev.drover.plan.stage.CutStep;
import dev.drover.plan.stage.Phase;
import dev.drover.plan.stage.StageAssignment;
import dev.drover.plan.stage.TimeCut;
import dev.drover.plan.task.ExecutionPlan;
import dev.drover.plan.task.ExecutionPlanBuilder;
import dev.drover.plan.task.LocalStep;
import dev.drover.plan.task.Program;
import dev.drover.plan.task.ValueRef;
import java.util.HashSet;
import java.util.Set;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What the pieces of the optimizer hand to each other. */
class OptimizerPiecesTest {

    /**
     * Clipping by the norm of all gradients divides the optimizer's work in two. What is made of parameters and moments alone must not be
     * made before, and kept while all the others' norm is computed.
     */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "mlp:layers=4,hidden=128,batch=8,features=32,clip=1",
                "gpt:layers=2,hidden=64,heads=2,seq=8,batch=4,vocab=64,clip=1"
            })
    void onlySmallValuesAreHandedOn(String model) {
        TrainingStep step = Zoo.parse(model).step();
        CutStep cut = TimeCut.cut(step, 2, false);
        ExecutionPlan plan = ExecutionPlanBuilder.build(
                LocalStep.ofOneDevice(cut),
                StageAssignment.single(cut),
                Schedules.byName("1f1b").make(1, 2));
        Set<ValueRef> taken = new HashSet<>();
        long pieces = 0;
        for (Program program : plan.programs()) {
            if (program.phase() == Phase.POST) {
                taken.addAll(program.inputs());
                pieces++;
            }
        }
        long handedOn = 0;
        for (Program program : plan.programs()) {
            for (int i = 0; i < program.outputs().size(); i++) {
                boolean among = program.phase() == Phase.POST
                        && taken.contains(program.outputs().get(i));
                handedOn +=
                        among ? program.computation().root().operand(i).shape().sizeBytes() : 0;
            }
        }
        long parameters = 0;
        for (int i = 0; i < step.inputs().size(); i++) {
            boolean parameter = step.inputs().get(i).kind() == InputRole.Kind.PARAMETER;
            parameters += parameter ? step.inputShapes().get(i).sizeBytes() : 0;
        }
        assertThat(pieces).isGreaterThan(2);
        assertThat(handedOn).isLessThan(parameters / 10);
    }
}
