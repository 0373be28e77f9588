package dev.drover.plan.lower;

import dev.drover.ir.graph.Computation;
import dev.drover.plan.sharding.Sharding;
import java.util.List;

/**
 * A per-device computation, the same for all devices of a mesh.
 *
 * @param local with the whole computation's parameters and a root tuple of its outputs, as local pieces
 * @param origins for each local instruction, the id of the whole instruction that it was made for: resharding belongs to the
 *     producer of the value, or to its user if each program makes the value for itself
 * @param parameters sharding of each parameter
 * @param outputs sharding of each output
 */
public record Lowered(Computation local, List<Integer> origins, List<Sharding> parameters, List<Sharding> outputs) {
    public Lowered {
        origins = List.copyOf(origins);
        parameters = List.copyOf(parameters);
        outputs = List.copyOf(outputs);
    }
}
