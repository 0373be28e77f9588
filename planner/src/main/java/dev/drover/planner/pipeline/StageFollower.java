package dev.drover.planner.pipeline;

import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.Parameter;
import dev.drover.plan.stage.CutStep;
import dev.drover.plan.stage.FreeValues;
import dev.drover.plan.stage.Phase;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Gives a stage to all that is not forward work, once that has one.
 *
 * <ul>
 *   <li>Backward work mirrors: as late as the backward values that it uses allow, but no later than the last stage that uses the
 *       forward values it needs.
 *   <li>A parameter is owned by the first stage that uses it; what is computed from parameters alone stands with its first user.
 *   <li>Accumulators stand where their terms are made; optimizer work stands with the largest value it uses, states before others.
 * </ul>
 */
final class StageFollower {
    private static final int UNKNOWN = -1;

    private final CutStep cut;
    private final List<Phase> phases;
    private final boolean[] free;
    private final int[] stageById;
    private final List<List<Instruction>> sourcesById = new ArrayList<>();

    StageFollower(CutStep cut, List<Phase> phases, boolean[] free, StageGraph graph, int[] stageByNode) {
        this.cut = cut;
        this.phases = phases;
        this.free = free;
        this.stageById = new int[cut.computation().size()];
        Arrays.fill(stageById, UNKNOWN);
        for (Instruction instruction : cut.computation().instructions()) {
            int node = graph.node(instruction.id());
            stageById[instruction.id()] = node < 0 ? UNKNOWN : stageByNode[node];
            sourcesById.add(free[instruction.id()] ? List.of() : FreeValues.sources(instruction, free));
        }
    }

    /** Stage by instruction id. */
    List<Integer> stages() {
        int[] lastForwardUse = stageById.clone();
        for (Instruction instruction : instructions()) {
            if (phases.get(instruction.id()) == Phase.FORWARD) {
                for (Instruction source : sourcesById.get(instruction.id())) {
                    lastForwardUse[source.id()] = Math.max(lastForwardUse[source.id()], stageById[instruction.id()]);
                }
            }
        }
        followForwardChains(lastForwardUse);
        int last = Arrays.stream(stageById).max().orElse(0);
        for (Instruction instruction : instructions()) {
            if (phases.get(instruction.id()) == Phase.BACKWARD && isWork(instruction)) {
                stageById[instruction.id()] = mirrored(instruction, lastForwardUse, last);
            }
        }
        for (int id = cut.computation().size() - 1; id >= 0; id--) {
            if (phases.get(id) != Phase.POST) {
                followUser(instructions().get(id), false);
            }
        }
        for (Instruction instruction : instructions()) {
            if (phases.get(instruction.id()) == Phase.POST && isWork(instruction)) {
                followLargest(instruction);
            }
        }
        for (int id = cut.computation().size() - 1; id >= 0; id--) {
            followUser(instructions().get(id), true);
        }
        for (Instruction instruction : instructions()) {
            if (instruction.takesATuple()) {
                stageById[instruction.id()] = stageById[instruction.operand(0).id()];
            }
        }
        List<Integer> out = new ArrayList<>();
        for (int stage : stageById) {
            out.add(Math.max(0, stage));
        }
        return out;
    }

    private List<Instruction> instructions() {
        return cut.computation().instructions();
    }

    private boolean isWork(Instruction instruction) {
        return !free[instruction.id()]
                && !(instruction.op() instanceof Parameter)
                && instruction != cut.computation().root();
    }

    /** What is computed once from parameters is at hand wherever its users are. */
    private void followForwardChains(int[] lastForwardUse) {
        for (int id = cut.computation().size() - 1; id >= 0; id--) {
            if (phases.get(id) == Phase.PRE) {
                for (Instruction source : sourcesById.get(id)) {
                    lastForwardUse[source.id()] = Math.max(lastForwardUse[source.id()], lastForwardUse[id]);
                }
            }
        }
    }

    private int mirrored(Instruction instruction, int[] lastForwardUse, int last) {
        int stage = last;
        for (Instruction source : sourcesById.get(instruction.id())) {
            if (phases.get(source.id()) == Phase.BACKWARD && isWork(source)) {
                stage = Math.min(stage, stageById[source.id()]);
            } else if (lastForwardUse[source.id()] != UNKNOWN) {
                stage = Math.min(stage, lastForwardUse[source.id()]);
            }
        }
        if (instruction.takesATuple()) {
            return stageById[instruction.operand(0).id()];
        }
        return stage;
    }

    /** Values without a stage stand with their first user, users counted by stage. */
    private void followUser(Instruction user, boolean post) {
        int stage = stageById[user.id()];
        if (stage == UNKNOWN || free[user.id()]) {
            return;
        }
        for (Instruction source : sourcesById.get(user.id())) {
            boolean open = source.op() instanceof Parameter || phases.get(source.id()) == Phase.PRE || post;
            if (open && (stageById[source.id()] == UNKNOWN || (!post && stageById[source.id()] > stage))) {
                stageById[source.id()] = stage;
            }
        }
    }

    private void followLargest(Instruction instruction) {
        long bestBytes = -1;
        int best = UNKNOWN;
        boolean bestIsState = false;
        for (Instruction source : sourcesById.get(instruction.id())) {
            int stage = stageById[source.id()];
            if (stage == UNKNOWN) {
                continue;
            }
            long bytes = source.shape().sizeBytes();
            boolean state = source.op() instanceof Parameter;
            boolean better = bytes != bestBytes ? bytes > bestBytes : state != bestIsState ? state : stage < best;
            if (better) {
                bestBytes = bytes;
                best = stage;
                bestIsState = state;
            }
        }
        stageById[instruction.id()] = best;
    }
}
