package dev.drover.planner.spmd;

import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.Instruction;
import dev.drover.plan.stage.FreeValues;
import dev.drover.plan.stage.Phase;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.function.IntUnaryOperator;
import java.util.function.ToDoubleFunction;

/**
 * Nanoseconds that a step takes at least from computing alone. Each stage computes one thing at a time: what it does once before the
 * micro-batches, their forward and backward work, what it does once after them. The first micro-batch must pass the stages before s
 * forward, the last one backward. With p, f, b, q the work of one stage in these parts, f and b of one micro-batch:
 *
 * <pre>
 *   begin_s = max(p_s, begin_(s-1) + f_(s-1))                       the first forward pass on s
 *   end_s   = max(begin_s + M (f_s + b_s), end_(s+1) + b_s)         the last backward pass on s
 *   step   &gt;= max over s of   end_s + q_s
 *
 *   stage 0   [p][f0][f1]..            [b0][b1][q.....]
 *   stage 1       [p][f0]..    [b0][b1]        [q..]
 * </pre>
 *
 * What each program makes for itself (free values) counts once in every part that uses it; what it is fed takes nothing.
 */
public final class ComputeFloor {
    private static final int PHASES = Phase.values().length;

    private final Computation computation;
    private final boolean[] free;
    private final int stages;
    private final double[] nanosByPart;

    private ComputeFloor(Computation computation, boolean[] free, int stages) {
        this.computation = computation;
        this.free = free;
        this.stages = stages;
        this.nanosByPart = new double[stages * PHASES];
    }

    /** The part of a step, as {@link #nanos} counts them. */
    public static int part(int stage, Phase phase) {
        return stage * PHASES + phase.ordinal();
    }

    /**
     * The bound of a computation.
     *
     * @param free by instruction id: made by each program that uses it
     * @param partById by instruction id, see {@link #part}
     * @param nanos of an instruction, once
     */
    public static double nanos(
            Computation computation,
            boolean[] free,
            int stages,
            int microBatches,
            IntUnaryOperator partById,
            ToDoubleFunction<Instruction> nanos) {
        ComputeFloor floor = new ComputeFloor(computation, free, stages);
        floor.sum(partById, nanos);
        return floor.step(microBatches);
    }

    private void sum(IntUnaryOperator partById, ToDoubleFunction<Instruction> nanos) {
        List<Instruction> instructions = computation.instructions();
        BitSet[] usesById = new BitSet[instructions.size()];
        Arrays.setAll(usesById, id -> new BitSet());
        for (int id = instructions.size() - 1; id >= 0; id--) {
            Instruction instruction = instructions.get(id);
            if (instruction == computation.root() || FreeValues.isTaskWork(instruction)) {
                continue;
            }
            BitSet parts = usesById[id];
            if (!free[id]) {
                parts = new BitSet();
                parts.set(partById.applyAsInt(id));
            }
            if (!parts.isEmpty()) {
                double one = nanos.applyAsDouble(instruction);
                parts.stream().forEach(part -> nanosByPart[part] += one);
            }
            for (Instruction operand : instruction.operands()) {
                usesById[operand.id()].or(parts);
            }
        }
    }

    private double nanos(int stage, Phase phase) {
        return nanosByPart[part(stage, phase)];
    }

    private double step(int microBatches) {
        double[] begin = new double[stages];
        for (int s = 0; s < stages; s++) {
            double before = s == 0 ? 0 : begin[s - 1] + nanos(s - 1, Phase.FORWARD);
            begin[s] = Math.max(nanos(s, Phase.PRE), before);
        }
        double least = 0;
        double endOfNext = 0;
        for (int s = stages - 1; s >= 0; s--) {
            double backward = nanos(s, Phase.BACKWARD);
            double alone = begin[s] + microBatches * (nanos(s, Phase.FORWARD) + backward);
            double end = s == stages - 1 ? alone : Math.max(alone, endOfNext + backward);
            least = Math.max(least, end + nanos(s, Phase.POST));
            endOfNext = end;
        }
        return least;
    }
}
