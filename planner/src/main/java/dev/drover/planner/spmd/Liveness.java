package dev.drover.planner.spmd;

import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.Tuple;
import dev.drover.plan.sharding.Source;
import dev.drover.plan.stage.FreeValues;
import dev.drover.plan.stage.Phase;
import java.util.Collections;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * From when to when results take memory. Time is the order in which a stage computes: by phase, within a phase as in the computation. A
 * program's inputs and outputs are there as long as it runs, so that what one phase makes for another lives through both:
 *
 * <pre>
 *   PRE | FORWARD          | BACKWARD         | POST
 *   p======================================]                     an input of the step, or made of inputs: to the end of its last phase
 *         a===================================]                  kept for the backward pass
 *           t===]                                                used within its program only
 *                              g===========================]     a gradient: from the start of its program to its last use
 *         s================================================]     its sum, if more micro-batches follow than are in flight
 * </pre>
 *
 * Inputs live throughout; an updated state takes its parameter's place, so it counts only where it is made. Values that each program
 * makes for itself ({@link FreeValues}) are counted in their own phase.
 */
final class Liveness {
    private final SpmdInput input;
    private final boolean[] free;
    private final int size;
    private final int[] time;
    private final long[] start;
    private final long[] end;
    private final long[] inFlightByStage;
    private final Map<Phase, Integer> firstTime = new EnumMap<>(Phase.class);
    private final Map<Phase, Integer> lastTime = new EnumMap<>(Phase.class);

    private Liveness(SpmdInput input) {
        this.input = input;
        this.free = FreeValues.of(input.flat());
        this.size = input.flat().size();
        this.time = new int[size];
        this.start = new long[size];
        this.end = new long[size];
        this.inFlightByStage = new long[1 + Collections.max(input.stages())];
        for (int id = 0; id < size; id++) {
            int stage = input.stages().get(id);
            inFlightByStage[stage] =
                    Math.max(inFlightByStage[stage], input.copies().get(id));
        }
        int next = 0;
        for (Phase phase : Phase.values()) {
            firstTime.put(phase, next);
            for (Instruction instruction : input.flat().instructions()) {
                if (input.phase(instruction) == phase) {
                    time[instruction.id()] = next++;
                }
            }
            lastTime.put(phase, next - 1);
        }
    }

    static Liveness of(SpmdInput input) {
        Liveness liveness = new Liveness(input);
        List<Instruction> instructions = input.flat().instructions();
        for (Instruction instruction : instructions) {
            int id = instruction.id();
            liveness.start[id] = liveness.time[id];
            liveness.end[id] = liveness.time[id] + 1L;
        }
        for (int id = instructions.size() - 1; id >= 0; id--) {
            Instruction user = instructions.get(id);
            if (user == input.flat().root() && user.op() instanceof Tuple) {
                continue;
            }
            for (Instruction operand : user.operands()) {
                liveness.use(operand, user);
            }
        }
        liveness.keepOutputs();
        return liveness;
    }

    private void use(Instruction value, Instruction user) {
        int id = value.id();
        Phase made = input.phase(value);
        Phase used = input.phase(user);
        // What is seen through a tuple is alive as long as what it is seen as.
        long last = Source.isWiring(user) ? Math.max(end[user.id()], time[user.id()] + 1L) : time[user.id()] + 1L;
        if (made == used) {
            end[id] = Math.max(end[id], last);
            return;
        }
        if (free[id]) {
            for (Instruction source : FreeValues.sources(value, free)) {
                use(source, user);
            }
            return;
        }
        start[id] = first(made);
        // While all micro-batches are in flight there is no sum yet, only the first term.
        if (FreeValues.isTaskWork(user) && input.repeats(value) > inFlightByStage[input.stage(value)]) {
            start[user.id()] = first(Phase.FORWARD);
            end[id] = Math.max(end[id], afterLast(made));
        } else {
            end[id] = Math.max(end[id], used == Phase.POST ? last : afterLast(used));
        }
    }

    private int first(Phase phase) {
        return firstTime.getOrDefault(phase, 0);
    }

    private long afterLast(Phase phase) {
        return lastTime.getOrDefault(phase, 0) + 1L;
    }

    private void keepOutputs() {
        Set<Integer> updates = new HashSet<>();
        List<Instruction> outputs = input.outputs();
        for (int i = 0; i < outputs.size(); i++) {
            Instruction output = outputs.get(i);
            if (input.updatedParameter(i) >= 0) {
                updates.add(output.id());
            } else {
                end[output.id()] = size;
            }
        }
        for (int id : updates) {
            start[id] = time[id];
            end[id] = time[id] + 1L;
        }
        for (Instruction parameter : input.flat().parameters()) {
            start[parameter.id()] = 0;
            end[parameter.id()] = size;
        }
    }

    /** By instruction id; not to be written. */
    boolean[] freeById() {
        return free;
    }

    long start(Instruction instruction) {
        return start[instruction.id()];
    }

    long end(Instruction instruction) {
        return end[instruction.id()];
    }

    long copies(Instruction instruction) {
        return input.copies().get(instruction.id());
    }
}
