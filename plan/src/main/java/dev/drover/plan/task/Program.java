package dev.drover.plan.task;

import dev.drover.ir.graph.Computation;
import dev.drover.plan.stage.Phase;
import java.util.List;

/**
 * One per-device program, the same for all devices of a stage. Parameter i of the computation is {@code inputs[i]}; leaf i of its
 * root tuple becomes {@code outputs[i]}. {@code partition-id} and the replica groups of collectives count the devices of the
 * stage's mesh from 0.
 */
public record Program(
        String name, int stage, Phase phase, Computation computation, List<ValueRef> inputs, List<ValueRef> outputs) {
    public Program {
        inputs = List.copyOf(inputs);
        outputs = List.copyOf(outputs);
    }
}
