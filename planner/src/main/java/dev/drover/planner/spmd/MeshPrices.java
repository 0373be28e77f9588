package dev.drover.planner.spmd;

import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.plan.mesh.Mesh;
import dev.drover.plan.sharding.OpShardings;
import dev.drover.plan.sharding.OpStrategy;
import dev.drover.plan.sharding.Resharder;
import dev.drover.plan.sharding.Sharding;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Strategies and their prices on one mesh, for one execution each: what all problems on that mesh share. Instructions of the same op
 * on the same shapes are priced once. Not for several threads.
 */
public final class MeshPrices {
    private final InstructionCost instructionCost;
    private final Resharder resharder;
    private final StrategySet.Cache sets;
    private final Map<StrategySet, double[]> nanosBySet = new HashMap<>();
    private final Map<StrategySet, long[]> bytesBySet = new HashMap<>();
    private final Map<MatrixKey, long[]> moveNanosByKey = new HashMap<>();

    private record MatrixKey(StrategySet from, int leaf, StrategySet to, int operand, ArrayShape shape) {}

    /** Stands for the result of the receiving instruction instead of an operand. */
    private static final int RESULT = -1;

    public MeshPrices(InstructionCost instructionCost, Resharder resharder) {
        this.instructionCost = instructionCost;
        this.resharder = resharder;
        this.sets = new StrategySet.Cache(resharder.mesh());
    }

    public Mesh mesh() {
        return resharder.mesh();
    }

    public Resharder resharder() {
        return resharder;
    }

    InstructionCost instructionCost() {
        return instructionCost;
    }

    StrategySet set(Instruction instruction) {
        return sets.of(instruction);
    }

    /** By strategy: nanoseconds of a device's piece. Not to be written. */
    double[] nanos(Instruction instruction) {
        return nanosBySet.computeIfAbsent(sets.of(instruction), set -> {
            double[] nanos = new double[set.size()];
            double flops = instruction.op().flops(instruction.operandShapes(), instruction.shape());
            OpShardings shardings = new OpShardings(instruction, mesh());
            for (int s = 0; s < nanos.length; s++) {
                OpStrategy strategy = set.strategies().get(s);
                if (shardings.exchanges(strategy)) {
                    LocalTime time = LocalTime.of(shardings, strategy, instructionCost, resharder);
                    nanos[s] = time.computeNanos() + time.exchangeNanos();
                    continue;
                }
                List<ArrayShape> operands = new ArrayList<>();
                for (int i = 0; i < shardings.operands(); i++) {
                    operands.add(set.operands().get(s).get(i).local(shardings.operandShape(i), mesh()));
                }
                nanos[s] = instructionCost.nanos(
                        instruction, flops / set.divisions().get(s), operands, results(instruction, set, s));
            }
            return nanos;
        });
    }

    /** By strategy: bytes of a device's piece of the result. Not to be written. */
    long[] bytes(Instruction instruction) {
        return bytesBySet.computeIfAbsent(sets.of(instruction), set -> {
            long[] bytes = new long[set.size()];
            for (int s = 0; s < bytes.length; s++) {
                for (ArrayShape local : results(instruction, set, s)) {
                    bytes[s] += local.sizeBytes();
                }
            }
            return bytes;
        });
    }

    private List<ArrayShape> results(Instruction instruction, StrategySet set, int strategy) {
        List<ArrayShape> leaves = instruction.shape().leaves();
        List<ArrayShape> locals = new ArrayList<>();
        for (int leaf = 0; leaf < leaves.size(); leaf++) {
            locals.add(set.results().get(strategy).get(leaf).local(leaves.get(leaf), mesh()));
        }
        return locals;
    }

    /**
     * Row-major over the strategies of two instructions: nanoseconds to bring a leaf of the first's result to where the second needs
     * its operand. Not to be written.
     */
    long[] moveNanos(Instruction from, int leaf, Instruction to, int operand) {
        ArrayShape shape = from.shape().leaves().get(leaf);
        MatrixKey key = new MatrixKey(sets.of(from), leaf, sets.of(to), operand, shape);
        return moveNanosByKey.computeIfAbsent(key, this::matrix);
    }

    /** The same to where the second makes its own (first) result. */
    long[] tieNanos(Instruction from, int leaf, Instruction to) {
        return moveNanos(from, leaf, to, RESULT);
    }

    /** By strategy: nanoseconds to complete a leaf of the result where it is partial. */
    long[] completeNanos(Instruction instruction, int leaf) {
        StrategySet set = sets.of(instruction);
        ArrayShape shape = instruction.shape().leaves().get(leaf);
        long[] nanos = new long[set.size()];
        for (int s = 0; s < nanos.length; s++) {
            Sharding made = set.results().get(s).get(leaf);
            nanos[s] = Math.round(resharder.nanos(shape, made, made.withoutPartial()));
        }
        return nanos;
    }

    private long[] matrix(MatrixKey key) {
        Kinds made = new Kinds();
        Kinds needed = new Kinds();
        key.from().results().forEach(leaves -> made.add(leaves.get(key.leaf())));
        if (key.operand() == RESULT) {
            key.to().results().forEach(leaves -> needed.add(leaves.get(0)));
        } else {
            key.to().operands().forEach(operands -> needed.add(operands.get(key.operand())));
        }
        long[] nanos = new long[made.kinds.size() * needed.kinds.size()];
        for (int f = 0; f < made.kinds.size(); f++) {
            for (int t = 0; t < needed.kinds.size(); t++) {
                nanos[f * needed.kinds.size() + t] =
                        Math.round(resharder.nanos(key.shape(), made.kinds.get(f), needed.kinds.get(t)));
            }
        }
        int columns = key.to().size();
        long[] matrix = new long[key.from().size() * columns];
        for (int f = 0; f < key.from().size(); f++) {
            for (int t = 0; t < columns; t++) {
                matrix[f * columns + t] =
                        nanos[made.kindByStrategy.get(f) * needed.kinds.size() + needed.kindByStrategy.get(t)];
            }
        }
        return matrix;
    }

    /** The different shardings among those of the strategies, which are interned. */
    private static final class Kinds {
        private final List<Sharding> kinds = new ArrayList<>();
        private final List<Integer> kindByStrategy = new ArrayList<>();

        void add(Sharding sharding) {
            int kind = 0;
            while (kind < kinds.size() && !kinds.get(kind).equals(sharding)) {
                kind++;
            }
            if (kind == kinds.size()) {
                kinds.add(sharding);
            }
            kindByStrategy.add(kind);
        }
    }
}
