package dev.drover.backend.torch.worker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.backend.torch.TorchDeviceMemory;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.plan.memory.WorkerLayout;
import dev.drover.plan.stage.Phase;
import dev.drover.plan.task.ExecutionPlan;
import dev.drover.plan.task.Feed;
import dev.drover.plan.task.Fetch;
import dev.drover.plan.task.Program;
import dev.drover.plan.task.Task;
import dev.drover.plan.task.TensorSlice;
import dev.drover.plan.task.ValueRef;
import dev.drover.plan.task.WorkerPlan;
import dev.drover.runtime.worker.StepReport;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntUnaryOperator;
import java.util.stream.IntStream;

/** A plan of one stage whose workers all run one program once a step, each on its element of {@code x: f32[workers]}. */
final class OneProgram {
    private OneProgram() {}

    static ArrayShape x(int workers) {
        return ArrayShape.of(DType.F32, workers);
    }

    /**
     * Makes the plan.
     *
     * @param rankOfOutput who tells a result
     */
    static ExecutionPlan plan(Computation computation, int workers, IntUnaryOperator rankOfOutput) {
        ValueRef x = new ValueRef("x", false);
        List<Instruction> results = computation.root().operands();
        List<ValueRef> outputs = IntStream.range(0, results.size())
                .mapToObj(i -> new ValueRef("out" + i, false))
                .toList();
        List<Integer> ranks = IntStream.range(0, workers).boxed().toList();
        List<WorkerPlan> plans = new ArrayList<>();
        for (int rank : ranks) {
            TensorSlice mine = new TensorSlice(x(workers), List.of(new TensorSlice.Cut(0, 1, workers, rank)));
            List<Fetch> fetches = new ArrayList<>();
            List<Task> tasks = new ArrayList<>(List.of(new Task.Run(0, -1), new Task.Free(x, -1)));
            for (int i = 0; i < results.size(); i++) {
                if (rank == rankOfOutput.applyAsInt(i)) {
                    fetches.add(new Fetch(
                            outputs.get(i), i, new TensorSlice(results.get(i).array(), List.of())));
                } else {
                    tasks.add(new Task.Free(outputs.get(i), -1));
                }
            }
            plans.add(new WorkerPlan(rank, 0, ranks, List.of(new Feed(x, 0, mine, false, null)), tasks, fetches));
        }
        return new ExecutionPlan(
                1, List.of(new Program("main", 0, Phase.FORWARD, computation, List.of(x), outputs)), plans);
    }

    /** What workers allocated is what their layouts say. */
    static void checkPeaks(ExecutionPlan plan, List<StepReport> reports) {
        for (WorkerPlan worker : plan.workers()) {
            assertThat(reports.get(worker.rank()).peakBytes())
                    .isEqualTo(WorkerLayout.of(plan, worker, new TorchDeviceMemory())
                            .totalBytes());
        }
    }
}
