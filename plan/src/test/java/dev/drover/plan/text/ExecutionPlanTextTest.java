package dev.drover.plan.text;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.drover.ir.graph.ComputationBuilder;
import dev.drover.ir.graph.Graph;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.PartitionId;
import dev.drover.ir.ops.Reduction;
import dev.drover.ir.text.GraphEquality;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.plan.stage.Phase;
import dev.drover.plan.task.ExecutionPlan;
import dev.drover.plan.task.Feed;
import dev.drover.plan.task.Fetch;
import dev.drover.plan.task.Program;
import dev.drover.plan.task.Task;
import dev.drover.plan.task.TensorSlice;
import dev.drover.plan.task.ValueRef;
import dev.drover.plan.task.WorkerPlan;
import java.util.List;
import org.junit.jupiter.api.Test;

final class ExecutionPlanTextTest {

    private static final ArrayShape SHAPE = ArrayShape.of(DType.F32, 16, 8);
    private static final ValueRef X = new ValueRef("x", true);
    private static final ValueRef Y = new ValueRef("a strange%name[m]", true);
    private static final ValueRef W = new ValueRef("w.1", false);

    private static ExecutionPlan plan() {
        ComputationBuilder builder = new ComputationBuilder("copy");
        Instruction x = builder.parameter("x", SHAPE.withDims(4, 8));
        Instruction unused = builder.add(new PartitionId());
        Program program = new Program("forward 0", 0, Phase.FORWARD, builder.build(x), List.of(X), List.of(Y));
        TensorSlice.Cut half = new TensorSlice.Cut(0, 8, 2, 1);
        List<Task> tasks = List.of(
                new Task.Run(0, 1),
                new Task.Send(Y, SHAPE, 1, 3),
                new Task.Receive(X, ArrayShape.scalar(DType.BF16), -1, 2),
                new Task.Accumulate(Y, 1, W, Reduction.MAX),
                new Task.Stack(Y, 0, W, SHAPE, 0, 4, 4),
                new Task.Free(X, 0),
                new Task.Update(W, new ValueRef("s", false)));
        WorkerPlan worker = new WorkerPlan(
                1,
                0,
                List.of(0, 1),
                List.of(
                        new Feed(X, 3, new TensorSlice(SHAPE, List.of(half)), false, new TensorSlice.Cut(0, 2, 4, 0)),
                        new Feed(W, 4, new TensorSlice(SHAPE, List.of()), true, null)),
                tasks,
                List.of(new Fetch(W, 2, new TensorSlice(SHAPE, List.of(half)))));
        WorkerPlan idle = new WorkerPlan(2, 1, List.of(2), List.of(), List.of(), List.of());
        return new ExecutionPlan(4, List.of(program), List.of(worker, idle));
    }

    @Test
    void whatIsPrintedParsesToTheSameAndPrintsTheSame() {
        ExecutionPlan plan = plan();
        String text = ExecutionPlanText.print(plan);
        ExecutionPlan parsed = ExecutionPlanText.parse(text);
        assertThat(ExecutionPlanText.print(parsed)).isEqualTo(text);
        assertThat(parsed.microBatches()).isEqualTo(4);
        assertThat(parsed.workers()).isEqualTo(plan.workers());
        Program before = plan.programs().get(0);
        Program after = parsed.programs().get(0);
        assertThat(after.name()).isEqualTo(before.name());
        assertThat(after.inputs()).isEqualTo(before.inputs());
        assertThat(after.outputs()).isEqualTo(before.outputs());
        assertThat(GraphEquality.difference(new Graph("g", before.computation()), new Graph("g", after.computation())))
                .isNull();
    }

    @Test
    void aWrongLineIsNamed() {
        String text = ExecutionPlanText.print(plan());
        assertThatThrownBy(() -> ExecutionPlanText.parse(text + "jump 3\n"))
                .hasMessage("The word (jump) must be known in line ("
                        + (text.lines().count() + 1) + ") of the execution plan.");
        assertThatThrownBy(() -> ExecutionPlanText.parse(text.substring(0, text.indexOf("end\n"))))
                .hasMessageContaining("must go on");
    }
}
