package dev.drover.plan.sharding;

import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.Instruction;
import dev.drover.plan.mesh.Mesh;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * Legal decisions drawn at random: every instruction gets any strategy that its rule allows, so that nearly every value is
 * resharded. Slow programs, but they must compute the same: {@code verify} draws some to try the whole machinery.
 */
public final class RandomStrategies {
    private RandomStrategies() {}

    /**
     * Draws decisions.
     *
     * @param updatedParameters by output: the parameter that it updates (and whose sharding it must end with), or -1
     */
    public static ShardingDecisions draw(Computation flat, List<Integer> updatedParameters, Mesh mesh, long seed) {
        Random random = new Random(seed);
        List<OpStrategy> strategies = new ArrayList<>();
        for (Instruction instruction : flat.instructions()) {
            if (Source.isWiring(instruction)) {
                strategies.add(OpStrategy.replicated(mesh.rank()));
            } else {
                List<OpStrategy> all = new OpShardings(instruction, mesh).all();
                strategies.add(all.get(random.nextInt(all.size())));
            }
        }
        return ShardingDecisions.of(flat, updatedParameters, strategies, mesh);
    }
}
