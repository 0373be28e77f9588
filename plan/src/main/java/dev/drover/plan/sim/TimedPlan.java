package dev.drover.plan.sim;

import dev.drover.plan.cluster.Cluster;
import dev.drover.plan.schedule.Schedule;
import dev.drover.plan.schedule.ScheduleLength;
import dev.drover.plan.stage.Phase;
import dev.drover.plan.stage.StageAssignment;
import dev.drover.plan.task.ExecutionPlan;
import dev.drover.plan.task.ExecutionPlanBuilder;
import dev.drover.plan.task.LocalStep;
import dev.drover.plan.task.Program;
import dev.drover.plan.task.Task;
import dev.drover.plan.task.WorkerPlan;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * Builds an execution plan whose tasks are ordered by the real lengths of passes and transfers: what a schedule leaves open (where a
 * receive stands among the computations) depends on them.
 */
public final class TimedPlan {
    private TimedPlan() {}

    /** The plan for these devices. */
    public static ExecutionPlan build(
            LocalStep local, StageAssignment assignment, Schedule schedule, Cluster cluster, ProgramCost cost) {
        ExecutionPlan draft = ExecutionPlanBuilder.build(local, assignment, schedule);
        return ExecutionPlanBuilder.build(local, assignment, schedule, durations(draft, cluster, cost));
    }

    /** Lengths of each stage's passes, and of what one micro-batch sends to the next and the previous stage. */
    public static ScheduleLength.Durations durations(ExecutionPlan plan, Cluster cluster, ProgramCost cost) {
        int stages = plan.workers().stream().mapToInt(WorkerPlan::stage).max().orElse(0) + 1;
        List<Double> forward = new ArrayList<>(Collections.nCopies(stages, 1.0));
        List<Double> backward = new ArrayList<>(Collections.nCopies(stages, 1.0));
        List<Double> forwardHop = new ArrayList<>(Collections.nCopies(stages, 0.0));
        List<Double> backwardHop = new ArrayList<>(Collections.nCopies(stages, 0.0));
        for (WorkerPlan worker : plan.workers()) {
            if (worker.device() != 0) {
                continue;
            }
            int stage = worker.stage();
            for (Task task : worker.tasks()) {
                if (task.microBatch() != 0) {
                    continue;
                }
                if (task instanceof Task.Run run) {
                    Program program = plan.programs().get(run.program());
                    double nanos = cost.time(program, worker.meshRanks()).totalNanos();
                    (program.phase() == Phase.FORWARD ? forward : backward).set(stage, Math.max(1.0, nanos));
                } else if (task instanceof Task.Send send) {
                    double nanos = cluster.link(worker.rank(), send.toRank())
                            .nanos(send.shape().sizeBytes());
                    int to = plan.workers().get(send.toRank()).stage();
                    if (to > stage) {
                        forwardHop.set(stage, forwardHop.get(stage) + nanos);
                    } else {
                        backwardHop.set(stage - 1, backwardHop.get(stage - 1) + nanos);
                    }
                }
            }
        }
        return new ScheduleLength.Durations(forward, backward, forwardHop, backwardHop);
    }
}
