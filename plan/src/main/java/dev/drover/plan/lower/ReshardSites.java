package dev.drover.plan.lower;

import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.Parameter;
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
 */
public record ReshardSites(List<Boolean> atUsers, List<Integer> siteById) {
    public ReshardSites {
        atUsers = List.copyOf(atUsers);
        siteById = List.copyOf(siteById);
    }

    /** Of a computation that is one program. */
    public static ReshardSites single(Computation flat) {
        return new ReshardSites(Collections.nCopies(flat.size(), false), Collections.nCopies(flat.size(), 0));
    }

    /** Of a cut step in stages. */
    public static ReshardSites of(CutStep cut, StageAssignment assignment) {
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
        return new ReshardSites(atUsers, sites);
    }
}
