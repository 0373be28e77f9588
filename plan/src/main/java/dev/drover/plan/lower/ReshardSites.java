package dev.drover.plan.lower;

import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.Parameter;
import dev.drover.ir.ops.Tuple;
import dev.drover.plan.stage.CutStep;
import dev.drover.plan.stage.FreeValues;
import dev.drover.plan.stage.StageAssignment;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * Where values are brought to another sharding: where they are made, once for all users; or, for values that each stage is fed or
 * makes for itself, where they are used, once for each stage and phase.
 *
 * @param atUsers by instruction id
 * @param siteById by instruction id: equal numbers for instructions that run in one program
 * @param gatherPerPhase whether what becomes larger is brought there by each program that uses it, so that only the small piece waits
 *     between programs: takes less memory, and more time where several programs want the same
 */
public record ReshardSites(List<Boolean> atUsers, List<Integer> siteById, boolean gatherPerPhase) {
    public ReshardSites {
        atUsers = List.copyOf(atUsers);
        siteById = List.copyOf(siteById);
    }

    /** Of a computation that is one program. */
    public static ReshardSites single(Computation flat) {
        return new ReshardSites(Collections.nCopies(flat.size(), false), Collections.nCopies(flat.size(), 0), false);
    }

    /** Of a cut step in stages. */
    public static ReshardSites of(CutStep cut, StageAssignment assignment, boolean gatherPerPhase) {
        Computation flat = cut.computation();
        boolean[] free = FreeValues.of(flat);
        List<Boolean> atUsers = new ArrayList<>();
        List<Integer> sites = new ArrayList<>();
        for (Instruction instruction : flat.instructions()) {
            int id = instruction.id();
            boolean fed = instruction.op() instanceof Parameter parameter
                    && cut.inputs().get(parameter.number()).perMicroBatch();
            atUsers.add(free[id] || fed);
            sites.add(assignment.stage(id) * 8 + assignment.phase(id).ordinal());
        }
        return new ReshardSites(atUsers, sites, gatherPerPhase);
    }

    /**
     * Whether a value is brought to another sharding where it is used.
     *
     * @param grows whether it becomes larger
     */
    boolean isAtUser(Instruction value, Instruction user, boolean grows) {
        return atUsers.get(value.id())
                || (gatherPerPhase
                        && grows
                        && !(user.op() instanceof Tuple)
                        && !FreeValues.isTaskWork(user)
                        && !siteById.get(value.id()).equals(siteById.get(user.id())));
    }
}
