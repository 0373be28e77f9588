package dev.drover.planner.spmd;

import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.Op;
import dev.drover.ir.type.Shape;
import dev.drover.plan.mesh.Mesh;
import dev.drover.plan.sharding.OpShardings;
import dev.drover.plan.sharding.OpStrategy;
import dev.drover.plan.sharding.Sharding;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The legal strategies of an instruction with the shardings that they imply; one object for all instructions of the same op on
 * the same shapes (repeated layers), so that it can be a key.
 *
 * @param operands by strategy, by operand leaf
 * @param results by strategy, by result leaf
 * @param divisions by strategy: devices among which the work is divided
 */
public record StrategySet(
        List<OpStrategy> strategies,
        List<List<Sharding>> operands,
        List<List<Sharding>> results,
        List<Long> divisions) {

    @Override
    public boolean equals(Object other) {
        return this == other;
    }

    @Override
    public int hashCode() {
        return System.identityHashCode(this);
    }

    public int size() {
        return strategies.size();
    }

    /** Makes strategy sets for one mesh and shares them. */
    public static final class Cache {
        private final Mesh mesh;
        private final Map<Key, StrategySet> setByKey = new HashMap<>();
        private final Map<Sharding, Sharding> interned = new HashMap<>();

        private record Key(Op op, List<Shape> operands, Shape result) {}

        public Cache(Mesh mesh) {
            this.mesh = mesh;
        }

        /** The strategies of an instruction of a flat computation. */
        public StrategySet of(Instruction instruction) {
            Key key = new Key(instruction.op(), instruction.operandShapes(), instruction.shape());
            return setByKey.computeIfAbsent(key, k -> make(instruction));
        }

        private StrategySet make(Instruction instruction) {
            OpShardings shardings = new OpShardings(instruction, mesh);
            List<OpStrategy> strategies = shardings.all();
            List<List<Sharding>> operands = new ArrayList<>();
            List<List<Sharding>> results = new ArrayList<>();
            List<Long> divisions = new ArrayList<>();
            int leaves = instruction.shape().leaves().size();
            for (OpStrategy strategy : strategies) {
                List<Sharding> needed = new ArrayList<>();
                for (int i = 0; i < shardings.operands(); i++) {
                    needed.add(intern(shardings.operand(strategy, i)));
                }
                List<Sharding> made = new ArrayList<>();
                for (int leaf = 0; leaf < leaves; leaf++) {
                    made.add(intern(shardings.result(strategy, leaf)));
                }
                operands.add(List.copyOf(needed));
                results.add(List.copyOf(made));
                divisions.add(shardings.divisions(strategy));
            }
            return new StrategySet(strategies, List.copyOf(operands), List.copyOf(results), List.copyOf(divisions));
        }

        private Sharding intern(Sharding sharding) {
            return interned.computeIfAbsent(sharding, s -> s);
        }
    }
}
