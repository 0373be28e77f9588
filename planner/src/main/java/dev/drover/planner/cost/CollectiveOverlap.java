package dev.drover.planner.cost;

import dev.drover.ir.graph.Instruction;
import dev.drover.plan.task.Lookahead;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * How long computing waits for the collectives of a program: each begins at its place, when the one before it has ended, and is awaited
 * at the first use of a result, before the one after the next begins (see {@link Lookahead#COLLECTIVES}), or at the end.
 *
 * <pre>
 *   compute       [g2][g1]..[h1].[update]         exposed: the dots
 *   collectives       [s2  ][s1   ]
 * </pre>
 */
final class CollectiveOverlap {
    private final Map<Instruction, Instruction> startedByValue = new HashMap<>();
    private final Map<Instruction, Double> endByStarted = new HashMap<>();
    private final Deque<Instruction> underWay = new ArrayDeque<>();
    private double now;
    private double free;
    private double exposed;

    /** The next instruction of the program, which takes so long on the device itself. */
    void compute(Instruction instruction, double nanos) {
        if (instruction.op().isView() && instruction.operands().size() == 1) {
            @Nullable Instruction started = startedByValue.get(instruction.operand(0));
            if (started != null) {
                startedByValue.put(instruction, started);
            }
            return;
        }
        awaitOperands(instruction);
        now += nanos;
    }

    /** The next instruction of the program, a collective that takes so long by itself. */
    void collective(Instruction instruction, double nanos) {
        awaitOperands(instruction);
        while (underWay.size() >= Lookahead.COLLECTIVES) {
            await(underWay.getFirst());
        }
        free = Math.max(now, free) + nanos;
        endByStarted.put(instruction, free);
        startedByValue.put(instruction, instruction);
        underWay.addLast(instruction);
    }

    /** Time that computing waited, all collectives ended. */
    double exposedNanos() {
        while (!underWay.isEmpty()) {
            await(underWay.getFirst());
        }
        return exposed;
    }

    private void awaitOperands(Instruction user) {
        for (Instruction operand : user.operands()) {
            @Nullable Instruction started = startedByValue.get(operand);
            if (started != null) {
                await(started);
            }
        }
    }

    private void await(Instruction started) {
        if (underWay.remove(started)) {
            double end = endByStarted.getOrDefault(started, now);
            exposed += Math.max(0, end - now);
            now = Math.max(now, end);
        }
    }
}
