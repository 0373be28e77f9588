package dev.drover.plan.task;

import java.util.List;

/**
 * What all workers do: the simulator, the runtime and {@code verify} are interpreters of this. Tasks of a worker run in order;
 * sends and receives may overlap with later tasks that do not touch their value.
 */
public record ExecutionPlan(int microBatches, List<Program> programs, List<WorkerPlan> workers) {
    public ExecutionPlan {
        programs = List.copyOf(programs);
        workers = List.copyOf(workers);
    }
}
