package dev.drover.runtime.coordinator;

import dev.drover.ir.graph.ComputationBuilder;
import dev.drover.ir.ops.PartitionId;
import dev.drover.plan.task.Program;
import java.util.List;

/** Stands for a program of another stage. */
final class NoProgram {

    private NoProgram() {}

    static Program in(Program place) {
        ComputationBuilder builder = new ComputationBuilder("elsewhere");
        return new Program(
                place.name(),
                place.stage(),
                place.phase(),
                builder.build(builder.add(new PartitionId())),
                List.of(),
                List.of());
    }
}
