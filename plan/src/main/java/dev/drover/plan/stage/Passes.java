package dev.drover.plan.stage;

import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.graph.OutputRole;
import java.util.ArrayList;
import java.util.List;

/**
 * Tells forward from backward work: what the loss depends on within a micro-batch is forward, other per-micro-batch work is backward.
 * Without a loss the metrics stand for it; without those all is forward.
 */
public final class Passes {
    private Passes() {}

    /** By instruction id of the cut step. */
    public static List<Phase> of(CutStep cut) {
        Computation computation = cut.computation();
        boolean[] needed = new boolean[computation.size()];
        List<OutputRole> roles = cut.step().outputs();
        int loss = cut.step().loss();
        boolean any = false;
        for (int i = 0; i < roles.size(); i++) {
            if (i == loss || (loss < 0 && roles.get(i).kind() == OutputRole.Kind.METRIC)) {
                needed[computation.root().operand(i).id()] = true;
                any = true;
            }
        }
        for (int id = computation.size() - 1; id >= 0; id--) {
            if (needed[id]) {
                for (Instruction operand : computation.instructions().get(id).operands()) {
                    needed[operand.id()] = true;
                }
            }
        }
        List<Phase> phases = new ArrayList<>();
        for (int id = 0; id < computation.size(); id++) {
            boolean backward = any && cut.perMicroBatch(id) && !needed[id];
            phases.add(backward ? Phase.BACKWARD : cut.phases().get(id));
        }
        return phases;
    }
}
