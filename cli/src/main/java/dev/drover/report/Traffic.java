package dev.drover.report;

import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.Collective;
import dev.drover.plan.sim.MemoryUse;
import dev.drover.plan.task.ExecutionPlan;
import dev.drover.plan.task.Program;
import dev.drover.plan.task.Task;
import dev.drover.plan.task.WorkerPlan;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Count and bytes of one kind of communication of one device in one step. */
public record Traffic(long count, long bytes) {

    /** Collectives and sends by opcode, of the worker that has most of each. */
    public static Map<String, Traffic> of(ExecutionPlan execution) {
        Map<String, Traffic> most = new TreeMap<>();
        for (WorkerPlan worker : execution.workers()) {
            Map<String, Traffic> own = new TreeMap<>();
            for (Task task : worker.tasks()) {
                if (task instanceof Task.Run run) {
                    Program program = execution.programs().get(run.program());
                    for (Instruction instruction : program.computation().instructions()) {
                        if (instruction.op() instanceof Collective) {
                            add(
                                    own,
                                    instruction.op().opcode(),
                                    instruction.shape().sizeBytes());
                        }
                    }
                } else if (task instanceof Task.Send send) {
                    add(own, "send", send.shape().sizeBytes());
                }
            }
            own.forEach((kind, traffic) -> most.merge(kind, traffic, (a, b) -> a.bytes() >= b.bytes() ? a : b));
        }
        return most;
    }

    /** A row of a table for each kind: kind, count, size. */
    public static List<List<String>> rows(ExecutionPlan execution) {
        Map<String, Traffic> trafficByKind = of(execution);
        List<List<String>> rows = new ArrayList<>();
        trafficByKind.forEach((kind, traffic) ->
                rows.add(List.of(kind, String.valueOf(traffic.count), MemoryUse.text(traffic.bytes))));
        return rows;
    }

    private static void add(Map<String, Traffic> traffic, String kind, long bytes) {
        traffic.merge(kind, new Traffic(1, bytes), (a, b) -> new Traffic(a.count() + b.count(), a.bytes() + b.bytes()));
    }
}
