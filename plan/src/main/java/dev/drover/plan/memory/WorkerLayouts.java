package dev.drover.plan.memory;

import dev.drover.ir.type.ArrayShape;
import dev.drover.plan.task.ExecutionPlan;
import dev.drover.plan.task.Fetch;
import dev.drover.plan.task.Task;
import dev.drover.plan.task.ValueRef;
import dev.drover.plan.task.WorkerPlan;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The layouts of a plan's workers. Devices of a mesh that do and keep the same share one, so that it is made once. */
public final class WorkerLayouts {
    private final ExecutionPlan plan;
    private final DeviceMemory memory;
    private final Map<Twins, WorkerLayout> layoutByTwins = new HashMap<>();

    private record Input(ValueRef value, ArrayShape shape, boolean persistent) {}

    /** All that a layout follows from, with the first rank of the mesh; with whom a worker exchanges values does not matter. */
    private record Twins(int meshRank, List<Input> inputs, List<Task> tasks, Set<ValueRef> fetched) {
        static Twins of(WorkerPlan worker) {
            Set<ValueRef> fetched = new HashSet<>();
            for (Fetch fetch : worker.fetches()) {
                fetched.add(fetch.value());
            }
            return new Twins(
                    worker.meshRanks().get(0),
                    worker.feeds().stream()
                            .map(feed -> new Input(feed.value(), feed.shape(), feed.persistent()))
                            .toList(),
                    worker.tasks().stream().map(Twins::withoutRank).toList(),
                    fetched);
        }

        private static Task withoutRank(Task task) {
            if (task instanceof Task.Send send) {
                return new Task.Send(send.value(), send.shape(), send.microBatch(), -1);
            }
            if (task instanceof Task.Receive receive) {
                return new Task.Receive(receive.value(), receive.shape(), receive.microBatch(), -1);
            }
            return task;
        }
    }

    /** Of one plan on devices of one kind. */
    public WorkerLayouts(ExecutionPlan plan, DeviceMemory memory) {
        this.plan = plan;
        this.memory = memory;
    }

    /** The layout of one worker. */
    public WorkerLayout of(WorkerPlan worker) {
        return layoutByTwins.computeIfAbsent(Twins.of(worker), twins -> WorkerLayout.of(plan, worker, memory));
    }
}
