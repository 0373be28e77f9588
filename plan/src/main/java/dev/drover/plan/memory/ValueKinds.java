package dev.drover.plan.memory;

import dev.drover.plan.stage.Phase;
import dev.drover.plan.task.ExecutionPlan;
import dev.drover.plan.task.Feed;
import dev.drover.plan.task.Fetch;
import dev.drover.plan.task.Program;
import dev.drover.plan.task.Task;
import dev.drover.plan.task.ValueRef;
import dev.drover.plan.task.WorkerPlan;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/** What each value of a worker is for, as the tasks tell. */
final class ValueKinds {
    private final Map<ValueRef, MemoryKind> kindByValue = new HashMap<>();

    ValueKinds(ExecutionPlan plan, WorkerPlan worker) {
        Set<ValueRef> usedByMicroBatches = new HashSet<>();
        Map<ValueRef, ValueRef> stateByNewValue = new HashMap<>();
        for (Task task : worker.tasks()) {
            if (task instanceof Task.Run run) {
                Program program = plan.programs().get(run.program());
                if (program.phase() != Phase.POST) {
                    usedByMicroBatches.addAll(program.inputs());
                }
                for (ValueRef output : program.outputs()) {
                    kindByValue.put(
                            output, program.phase() == Phase.POST ? MemoryKind.GRADIENTS : MemoryKind.ACTIVATIONS);
                }
            } else if (task instanceof Task.Send send && send.microBatch() < 0) {
                usedByMicroBatches.add(send.value());
            } else if (task instanceof Task.Receive receive) {
                kindByValue.put(receive.value(), MemoryKind.COMMUNICATION);
            } else if (task instanceof Task.Accumulate accumulate) {
                kindByValue.put(accumulate.from(), MemoryKind.GRADIENTS);
                kindByValue.put(accumulate.into(), MemoryKind.GRADIENTS);
            } else if (task instanceof Task.Stack stack) {
                kindByValue.put(stack.into(), MemoryKind.GRADIENTS);
            } else if (task instanceof Task.Update update) {
                stateByNewValue.put(update.from(), update.state());
            }
        }
        for (Feed feed : worker.feeds()) {
            kindByValue.put(
                    feed.value(),
                    !feed.persistent()
                            ? MemoryKind.BATCH
                            : usedByMicroBatches.contains(feed.value())
                                    ? MemoryKind.PARAMETERS
                                    : MemoryKind.OPTIMIZER_STATE);
        }
        Set<ValueRef> fed = new HashSet<>();
        worker.feeds().forEach(feed -> fed.add(feed.value()));
        for (Fetch fetch : worker.fetches()) {
            if (!fed.contains(fetch.value())) {
                kindByValue.put(fetch.value(), MemoryKind.RESULTS);
            }
        }
        stateByNewValue.forEach((made, state) -> kindByValue.put(made, of(state)));
    }

    MemoryKind of(ValueRef value) {
        return kindByValue.getOrDefault(value, MemoryKind.ACTIVATIONS);
    }
}
