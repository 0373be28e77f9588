package dev.drover.planner.spmd;

import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.plan.mesh.Mesh;
import dev.drover.plan.sharding.OpShardings;
import dev.drover.plan.sharding.OpStrategy;
import dev.drover.plan.sharding.Resharder;
import dev.drover.plan.sharding.Sharding;
import dev.drover.planner.spmd.ExchangePrices.Way;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;

/**
 * Strategies and their prices on one mesh, for one execution each: what all problems on that mesh share. Instructions of the same op
 * on the same shapes are priced once. For one thread at a time, which locks it.
 */
public final class MeshPrices {
    private final InstructionCost instructionCost;
    private final ExchangePrices exchanges;
    private final StrategySet.Cache sets;
    private final IdentityHashMap<Instruction, StrategySet> setByInstruction = new IdentityHashMap<>();
    private final Map<StrategySet, double[]> nanosBySet = new HashMap<>();
    private final Map<StrategySet, long[]> bytesBySet = new HashMap<>();
    private final Map<MatrixKey, long[]> moveNanosByKey = new HashMap<>();

    private final Map<KindsKey, long[]> nanosByKinds = new HashMap<>();

    /** By numbers of {@link StrategySet.Kinds}. */
    private record KindsKey(ArrayShape shape, int made, int needed, Way way) {}

    private record MatrixKey(StrategySet from, int leaf, StrategySet to, int operand, ArrayShape shape, Way way) {}

    /** Stands for the result of the receiving instruction instead of an operand. */
    private static final int RESULT = -1;

    public MeshPrices(InstructionCost instructionCost, Resharder resharder) {
        this.instructionCost = instructionCost;
        this.exchanges = new ExchangePrices(resharder);
        this.sets = new StrategySet.Cache(resharder.mesh());
    }

    public Mesh mesh() {
        return exchanges.mesh();
    }

    public Resharder resharder() {
        return exchanges.resharder();
    }

    InstructionCost instructionCost() {
        return instructionCost;
    }

    StrategySet set(Instruction instruction) {
        return setByInstruction.computeIfAbsent(instruction, sets::of);
    }

    /** By strategy: nanoseconds of a device's piece. Not to be written. */
    double[] nanos(Instruction instruction) {
        return nanosBySet.computeIfAbsent(set(instruction), set -> {
            double[] nanos = new double[set.size()];
            double flops = instruction.op().flops(instruction.operandShapes(), instruction.shape());
            OpShardings shardings = new OpShardings(instruction, mesh());
            for (int s = 0; s < nanos.length; s++) {
                OpStrategy strategy = set.strategies().get(s);
                if (shardings.exchanges(strategy)) {
                    LocalTime time = LocalTime.of(shardings, strategy, instructionCost, resharder());
                    nanos[s] = time.computeNanos() + time.exchangeNanos();
                    continue;
                }
                List<ArrayShape> operands = new ArrayList<>();
                for (int i = 0; i < shardings.operands(); i++) {
                    operands.add(set.operands().get(i).of(s).local(shardings.operandShape(i), mesh()));
                }
                nanos[s] = instructionCost.nanos(
                        instruction, flops / set.divisions().get(s), operands, results(instruction, set, s));
            }
            return nanos;
        });
    }

    /** By strategy: bytes of a device's piece of the result. Not to be written. */
    long[] bytes(Instruction instruction) {
        return bytesBySet.computeIfAbsent(set(instruction), set -> {
            long[] bytes = new long[set.size()];
            List<ArrayShape> leaves = instruction.shape().leaves();
            for (int leaf = 0; leaf < leaves.size(); leaf++) {
                StrategySet.Kinds made = set.results().get(leaf);
                ArrayShape shape = leaves.get(leaf);
                long[] ofKind = made.kinds().stream()
                        .mapToLong(sharding -> sharding.localBytes(shape, mesh()))
                        .toArray();
                for (int s = 0; s < bytes.length; s++) {
                    bytes[s] += ofKind[made.kind(s)];
                }
            }
            return bytes;
        });
    }

    /** Nanoseconds of the quickest strategy. */
    double leastNanos(Instruction instruction) {
        double[] nanos = nanos(instruction);
        double least = nanos[0];
        for (double one : nanos) {
            least = Math.min(least, one);
        }
        return least;
    }

    /** Bytes of the smallest piece of the result. */
    long leastBytes(Instruction instruction) {
        long[] bytes = bytes(instruction);
        long least = bytes[0];
        for (long one : bytes) {
            least = Math.min(least, one);
        }
        return least;
    }

    private List<ArrayShape> results(Instruction instruction, StrategySet set, int strategy) {
        List<ArrayShape> leaves = instruction.shape().leaves();
        List<ArrayShape> locals = new ArrayList<>();
        for (int leaf = 0; leaf < leaves.size(); leaf++) {
            locals.add(set.results().get(leaf).of(strategy).local(leaves.get(leaf), mesh()));
        }
        return locals;
    }

    /**
     * Row-major over the strategies of two instructions: nanoseconds to bring a leaf of the first's result to where the second needs
     * its operand. Not to be written.
     */
    long[] moveNanos(Instruction from, int leaf, Instruction to, int operand) {
        return matrix(from, leaf, to, operand, Way.of(from, to));
    }

    /** The same to where the second makes its own (first) result. */
    long[] tieNanos(Instruction from, int leaf, Instruction to) {
        return matrix(from, leaf, to, RESULT, Way.BACK);
    }

    private long[] matrix(Instruction from, int leaf, Instruction to, int operand, Way way) {
        ArrayShape shape = from.shape().leaves().get(leaf);
        MatrixKey key = new MatrixKey(set(from), leaf, set(to), operand, shape, way);
        return moveNanosByKey.computeIfAbsent(key, this::matrix);
    }

    /** By strategy: nanoseconds to complete a leaf of the result where it is partial. */
    long[] completeNanos(Instruction instruction, int leaf) {
        StrategySet set = set(instruction);
        ArrayShape shape = instruction.shape().leaves().get(leaf);
        long[] nanos = new long[set.size()];
        for (int s = 0; s < nanos.length; s++) {
            Sharding made = set.results().get(leaf).of(s);
            nanos[s] = Math.round(exchanges.nanos(shape, made, made.withoutPartial(), Way.SOON));
        }
        return nanos;
    }

    private long[] matrix(MatrixKey key) {
        StrategySet.Kinds made = key.from().results().get(key.leaf());
        StrategySet.Kinds needed = key.operand() == RESULT
                ? key.to().results().get(0)
                : key.to().operands().get(key.operand());
        long[] nanos = nanosByKinds.computeIfAbsent(
                new KindsKey(key.shape(), made.number(), needed.number(), key.way()),
                k -> nanos(key.shape(), made.kinds(), needed.kinds(), key.way()));
        int columns = key.to().size();
        long[] matrix = new long[key.from().size() * columns];
        for (int f = 0; f < key.from().size(); f++) {
            int row = made.kind(f) * needed.kinds().size();
            for (int t = 0; t < columns; t++) {
                matrix[f * columns + t] = nanos[row + needed.kind(t)];
            }
        }
        return matrix;
    }

    private long[] nanos(ArrayShape shape, List<Sharding> made, List<Sharding> needed, Way way) {
        long[] nanos = new long[made.size() * needed.size()];
        int at = 0;
        for (Sharding from : made) {
            for (Sharding to : needed) {
                nanos[at++] = Math.round(exchanges.nanos(shape, from, to, way));
            }
        }
        return nanos;
    }
}
