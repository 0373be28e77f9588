package dev.drover.planner.spmd;

import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.Op;
import dev.drover.ir.type.Shape;
import dev.drover.plan.mesh.Mesh;
import dev.drover.plan.sharding.OpShardings;
import dev.drover.plan.sharding.OpStrategy;
import dev.drover.plan.sharding.Sharding;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The legal strategies of an instruction with the shardings that they imply; one object for all instructions of the same op on
 * the same shapes by which the same sums pass (repeated layers), so that it can be a key.
 *
 * @param operands by operand leaf
 * @param results by result leaf
 * @param divisions by strategy: devices among which the work is divided
 */
public record StrategySet(
        List<OpStrategy> strategies, List<Kinds> operands, List<Kinds> results, List<Long> divisions) {

    /** The different shardings that the strategies imply for one value; few, where strategies are many. */
    public static final class Kinds {
        private final List<Sharding> kinds;
        private final int number;
        private final int[] kindByStrategy;

        private Kinds(List<Sharding> byStrategy, Map<List<Sharding>, Integer> numberByKinds) {
            Map<Sharding, Integer> numbers = new LinkedHashMap<>();
            this.kindByStrategy = new int[byStrategy.size()];
            for (int s = 0; s < kindByStrategy.length; s++) {
                Integer number = numbers.putIfAbsent(byStrategy.get(s), numbers.size());
                kindByStrategy[s] = number == null ? numbers.size() - 1 : number;
            }
            this.kinds = List.copyOf(numbers.keySet());
            this.number = numberByKinds.computeIfAbsent(kinds, list -> numberByKinds.size());
        }

        /** Equal where the lists of kinds are equal. */
        int number() {
            return number;
        }

        /** Each once. */
        List<Sharding> kinds() {
            return kinds;
        }

        /** Which of {@link #kinds} a strategy implies. */
        int kind(int strategy) {
            return kindByStrategy[strategy];
        }

        /** What a strategy implies. */
        Sharding of(int strategy) {
            return kinds.get(kindByStrategy[strategy]);
        }
    }

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
        private final Map<List<Sharding>, Integer> numberByKinds = new HashMap<>();

        private record Key(Op op, List<Shape> operands, Shape result, BitSet passing) {}

        public Cache(Mesh mesh) {
            this.mesh = mesh;
        }

        /** The strategies of an instruction of a flat computation. */
        public StrategySet of(Instruction instruction) {
            Key key = new Key(
                    instruction.op(),
                    instruction.operandShapes(),
                    instruction.shape(),
                    OpShardings.passingGroups(instruction));
            return setByKey.computeIfAbsent(key, k -> make(instruction));
        }

        private StrategySet make(Instruction instruction) {
            OpShardings shardings = new OpShardings(instruction, mesh);
            List<OpStrategy> strategies = shardings.all();
            List<Kinds> operands = new ArrayList<>();
            for (int i = 0; i < shardings.operands(); i++) {
                int operand = i;
                operands.add(new Kinds(
                        strategies.stream()
                                .map(strategy -> shardings.operand(strategy, operand))
                                .toList(),
                        numberByKinds));
            }
            List<Kinds> results = new ArrayList<>();
            for (int i = 0; i < instruction.shape().leaves().size(); i++) {
                int leaf = i;
                results.add(new Kinds(
                        strategies.stream()
                                .map(strategy -> shardings.result(strategy, leaf))
                                .toList(),
                        numberByKinds));
            }
            List<Long> divisions = strategies.stream().map(shardings::divisions).toList();
            return new StrategySet(strategies, List.copyOf(operands), List.copyOf(results), divisions);
        }
    }
}
