package dev.drover.runtime.coordinator;

import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.Graph;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.Collective;
import dev.drover.plan.task.ExecutionPlan;
import dev.drover.plan.task.Program;
import dev.drover.plan.task.WorkerPlan;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** All communicators that an execution plan needs, so that they can be made before the first step. */
final class CommunicatorGroups {

    private CommunicatorGroups() {}

    /** Ordered lists of global ranks: each stage's mesh, and the groups of all collectives in its programs. */
    static List<List<Integer>> of(ExecutionPlan plan) {
        Set<List<Integer>> groups = new LinkedHashSet<>();
        for (WorkerPlan worker : plan.workers()) {
            groups.add(worker.meshRanks());
            for (Program program : plan.programs()) {
                if (program.stage() == worker.stage()) {
                    addCollectives(program, worker.meshRanks(), worker.device(), groups);
                }
            }
        }
        groups.removeIf(group -> group.size() < 2);
        return List.copyOf(groups);
    }

    private static void addCollectives(
            Program program, List<Integer> meshRanks, int device, Set<List<Integer>> groups) {
        for (Computation computation : new Graph(program.name(), program.computation()).computations()) {
            for (Instruction instruction : computation.instructions()) {
                if (instruction.op() instanceof Collective collective) {
                    List<Integer> ranks = new ArrayList<>();
                    for (int member : collective.members(device, meshRanks.size())) {
                        ranks.add(meshRanks.get(member));
                    }
                    groups.add(ranks);
                }
            }
        }
    }
}
