package dev.drover.plan.stage;

import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.InputRole;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.graph.TrainingStep;
import dev.drover.ir.ops.GetTupleElement;
import dev.drover.ir.ops.LinearGroups;
import dev.drover.ir.ops.Parameter;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.Shape;
import dev.drover.ir.type.TupleShape;
import dev.drover.plan.mesh.Mesh;
import dev.drover.plan.mesh.MeshAxis;
import dev.drover.plan.sharding.AxisState;
import dev.drover.plan.sharding.OpShardings;
import dev.drover.plan.sharding.OpStrategy;
import dev.drover.plan.sharding.Sharding;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What the virtual axis "time" does to each value of a flat step when batch inputs are cut along it, inferred by factor rules only.
 *
 * <p>A value is made ONCE, or for EACH micro-batch; then each of its leaves is cut, or partial (each micro-batch has a term). An op
 * with a cut operand is computed on a cut of the factor that its operands name; an op with partial operands passes them on where it
 * is linear; every other op waits for the accumulated value and is made once. A value of all micro-batches that is used with the
 * samples of one is a conflict, unless it depends on input data alone: then it is computed from the whole batch beforehand.
 */
final class TimeStates {
    /** Choice of an instruction that is made once. */
    static final int ONCE = Integer.MIN_VALUE;
    /** Choice of an instruction that is made for each of one micro-batch, whatever it mixes. */
    static final int TRIVIAL = OpStrategy.REPLICATE;
    /** Flops per number read or written above which an op counts as heavy. */
    private static final int HEAVY = 4;

    private final Computation entry;
    private final TrainingStep step;
    private final int parts;
    private final Mesh time;
    private final List<Integer> batchDims;

    private final int[] choice;
    private final List<List<AxisState>> leaves = new ArrayList<>();
    private final boolean[] afterAccumulation;
    private final boolean[] dataOnly;
    private final @Nullable OpShardings[] rules;
    private @Nullable TimeConflict conflict;
    private final Set<Integer> conflicting = new HashSet<>();

    private TimeStates(TrainingStep step, int parts, List<Integer> batchDims) {
        this.step = step;
        this.entry = step.graph().entry();
        this.parts = parts;
        this.time = new Mesh(List.of(new MeshAxis("time", parts)));
        this.batchDims = batchDims;
        this.choice = new int[entry.size()];
        this.afterAccumulation = new boolean[entry.size()];
        this.dataOnly = new boolean[entry.size()];
        this.rules = new @Nullable OpShardings[entry.size()];
    }

    /**
     * Infers all states, or stops at the first conflict.
     *
     * @param batchDims by input: the dim that counts samples, -1 for inputs that are not cut
     */
    static TimeStates infer(TrainingStep step, int parts, List<Integer> batchDims) {
        TimeStates states = new TimeStates(step, parts, batchDims);
        for (Instruction instruction : states.entry.instructions()) {
            states.visit(instruction);
            if (states.conflict != null) {
                break;
            }
        }
        return states;
    }

    /** How many instructions are in conflict, if what each of them makes is taken as one would wish. */
    static int conflicts(TrainingStep step, int parts, List<Integer> batchDims) {
        TimeStates states = new TimeStates(step, parts, batchDims);
        states.entry.instructions().forEach(states::visit);
        return states.conflicting.size();
    }

    /** One micro-batch, whatever the step mixes: all that depends on batch data is made "for each". */
    static TimeStates trivial(TrainingStep step, List<Integer> batchDims) {
        TimeStates states = new TimeStates(step, 1, batchDims);
        for (Instruction instruction : states.entry.instructions()) {
            boolean each = instruction.op() instanceof Parameter parameter
                    ? batchDims.get(parameter.number()) >= 0
                    : instruction.operands().stream().anyMatch(o -> states.choice[o.id()] != ONCE);
            states.choice[instruction.id()] = each ? TRIVIAL : ONCE;
            states.leaves.add(Collections.nCopies(instruction.shape().leaves().size(), AxisState.REPLICATED));
        }
        return states;
    }

    @Nullable
    TimeConflict conflict() {
        return conflict;
    }

    int parts() {
        return parts;
    }

    boolean each(int id) {
        return choice[id] != ONCE;
    }

    /** The factor that is cut, a passed group, {@link #TRIVIAL} or {@link #ONCE}. */
    int choice(int id) {
        return choice[id];
    }

    /** State of an array value. */
    AxisState state(int id) {
        return leaves.get(id).get(0);
    }

    /** Depends on inputs that are not state, and takes little work: may be computed from the whole batch beforehand. */
    boolean dataOnly(int id) {
        return dataOnly[id];
    }

    /** Made once, from values of all micro-batches. */
    boolean afterAccumulation(int id) {
        return afterAccumulation[id];
    }

    OpShardings rule(Instruction instruction) {
        OpShardings rule = rules[instruction.id()];
        if (rule == null) {
            rule = new OpShardings(instruction, time);
            rules[instruction.id()] = rule;
        }
        return rule;
    }

    /** What operand {@code k} of an instruction that is made for each must be. */
    AxisState required(Instruction instruction, int operand) {
        int chosen = choice[instruction.id()];
        if (chosen == TRIVIAL) {
            return AxisState.REPLICATED;
        }
        return rule(instruction)
                .operand(new OpStrategy(List.of(chosen)), operand)
                .axis(0);
    }

    /** Whether an operand is taken from the whole batch though it is made for each, or after accumulation. */
    boolean takenWhole(Instruction instruction, int operand) {
        int id = instruction.operand(operand).id();
        return chosenCut(instruction) && (each(id) ? state(id) instanceof AxisState.Partial : afterAccumulation[id]);
    }

    private boolean chosenCut(Instruction instruction) {
        return choice[instruction.id()] >= 0;
    }

    /** Of the flops of contractions and the like, the share that is made for each micro-batch; 1 if there are none. */
    double heavyShare() {
        double all = 0;
        double inMicroBatches = 0;
        for (Instruction instruction : entry.instructions()) {
            double flops = instruction.op().flops(instruction.operandShapes(), instruction.shape());
            if (flops > HEAVY * elements(instruction)) {
                all += flops;
                inMicroBatches += each(instruction.id()) ? flops : 0;
            }
        }
        return all == 0 ? 1 : inMicroBatches / all;
    }

    private void visit(Instruction instruction) {
        int id = instruction.id();
        List<AxisState> replicated =
                Collections.nCopies(instruction.shape().leaves().size(), AxisState.REPLICATED);
        choice[id] = ONCE;
        leaves.add(replicated);
        if (instruction.op() instanceof Parameter parameter) {
            visitParameter(instruction, parameter.number());
            return;
        }
        dataOnly[id] = instruction.operands().stream().allMatch(o -> dataOnly[o.id()]) && isCheap(instruction);
        if (instruction.op() instanceof GetTupleElement element) {
            Instruction operand = instruction.operand(0);
            choice[id] = choice[operand.id()];
            afterAccumulation[id] = afterAccumulation[operand.id()];
            leaves.set(id, List.of(leaves.get(operand.id()).get(element.index())));
            return;
        }
        if (instruction == entry.root()) {
            return;
        }
        boolean anyEach = false;
        boolean anyCut = false;
        for (Instruction operand : instruction.operands()) {
            anyEach |= each(operand.id());
            anyCut |= each(operand.id()) && state(operand.id()) instanceof AxisState.Cut;
            afterAccumulation[id] |= afterAccumulation[operand.id()];
        }
        if (!anyEach) {
            return;
        }
        if (anyCut) {
            visitCut(instruction);
            afterAccumulation[id] = false;
        } else if (!visitPartial(instruction)) {
            afterAccumulation[id] = true;
        }
    }

    private void visitParameter(Instruction instruction, int input) {
        int id = instruction.id();
        InputRole.Kind kind = step.inputs().get(input).kind();
        dataOnly[id] = kind != InputRole.Kind.PARAMETER && kind != InputRole.Kind.OPTIMIZER_STATE;
        int dim = batchDims.get(input);
        if (dim < 0) {
            return;
        }
        OpShardings rule = rule(instruction);
        List<Integer> factors = rule.rule().results().get(0).get(dim);
        if (factors.size() == 1) {
            choice[id] = factors.get(0);
            leaves.set(
                    id,
                    List.of(rule.result(new OpStrategy(List.of(choice[id])), 0).axis(0)));
        } else {
            refuse(instruction, "its dim " + dim + " has one sample only");
        }
    }

    private void refuse(Instruction instruction, String reason) {
        conflict = conflict == null ? new TimeConflict(instruction, reason) : conflict;
        conflicting.add(instruction.id());
    }

    private boolean isCheap(Instruction instruction) {
        return !instruction.op().hasSideEffect()
                && instruction.op().flops(instruction.operandShapes(), instruction.shape())
                        <= 16 * elements(instruction);
    }

    /** Numbers read and written. */
    private static long elements(Instruction instruction) {
        long elements = 1;
        for (Shape shape : instruction.operandShapes()) {
            for (ArrayShape leaf : shape.leaves()) {
                elements += leaf.elements();
            }
        }
        for (ArrayShape leaf : instruction.shape().leaves()) {
            elements += leaf.elements();
        }
        return elements;
    }

    private void visitCut(Instruction instruction) {
        if (hasTupleOperand(instruction)) {
            refuse(instruction, "it takes a tuple, and nothing is known about its parts");
            return;
        }
        for (int k = 0; k < instruction.operands().size(); k++) {
            Instruction operand = instruction.operand(k);
            boolean ofAll = each(operand.id())
                    ? state(operand.id()) instanceof AxisState.Partial
                    : afterAccumulation[operand.id()];
            if (ofAll && !dataOnly[operand.id()]) {
                refuse(
                        instruction,
                        "its operand (" + operand.name()
                                + ") is made from all samples of the batch and used with each sample (batch statistics)");
                break;
            }
        }
        OpShardings rule = rule(instruction);
        for (int f = 0; f < rule.rule().factors().size(); f++) {
            if (!rule.rule().factors().get(f).cutsInto(parts)) {
                continue;
            }
            OpStrategy strategy = new OpStrategy(List.of(f));
            if (fits(instruction, rule, strategy)) {
                choice[instruction.id()] = f;
                List<AxisState> made = new ArrayList<>();
                for (int leaf = 0; leaf < rule.rule().results().size(); leaf++) {
                    made.add(rule.result(strategy, leaf).axis(0));
                }
                if (made.contains(AxisState.REPLICATED)) {
                    continue;
                }
                leaves.set(instruction.id(), made);
                return;
            }
        }
        choice[instruction.id()] = ONCE;
        List<String> states = new ArrayList<>();
        for (Instruction operand : instruction.operands()) {
            states.add(operand.name() + " " + operand.shape() + " "
                    + (each(operand.id()) ? new Sharding(List.of(state(operand.id()))).text(time) : "time:R"));
        }
        refuse(
                instruction,
                "its rule " + rule.rule() + " has no factor that may be cut for " + String.join(", ", states));
    }

    private boolean fits(Instruction instruction, OpShardings rule, OpStrategy strategy) {
        for (int k = 0; k < instruction.operands().size(); k++) {
            int operand = instruction.operand(k).id();
            AxisState needed = rule.operand(strategy, k).axis(0);
            if (each(operand)
                    && !(state(operand) instanceof AxisState.Partial)
                    && !state(operand).equals(needed)) {
                return false;
            }
        }
        return true;
    }

    private static boolean hasTupleOperand(Instruction instruction) {
        return instruction.operands().stream().anyMatch(o -> o.shape() instanceof TupleShape);
    }

    /** All operands that are made for each are partial. Returns whether they pass. */
    private boolean visitPartial(Instruction instruction) {
        if (hasTupleOperand(instruction) || !(instruction.shape() instanceof ArrayShape)) {
            return false;
        }
        List<Set<Integer>> groups = instruction.op().linearGroups();
        for (int g = 0; g < groups.size(); g++) {
            boolean passes = LinearGroups.passes(instruction, groups.get(g));
            for (int k = 0; k < instruction.operands().size(); k++) {
                int operand = instruction.operand(k).id();
                boolean member = groups.get(g).contains(k);
                passes &= member
                        ? each(operand) && state(operand).equals(AxisState.PARTIAL_SUM)
                        : !each(operand) && !afterAccumulation[operand];
            }
            if (passes) {
                choice[instruction.id()] = OpStrategy.pass(g);
                leaves.set(instruction.id(), List.of(AxisState.PARTIAL_SUM));
                return true;
            }
        }
        return false;
    }

    /**
     * Takes linear ops that save nothing out of the micro-batches: what is only accumulated is accumulated before the op, unless
     * that needs more memory, or sums in a narrower type.
     *
     * <pre>
     * transpose(dot(x, dy)) -> accumulate   becomes   dot(x, dy) -> accumulate -> transpose
     * reduce(add(p, q)) -> accumulate       stays where the accumulators would be larger
     * </pre>
     *
     * @param joinLate whether sums of several partial values are also made once (they may come from different stages)
     */
    void accumulateEarly(boolean joinLate) {
        List<List<Instruction>> users = entry.users();
        boolean[] accumulated = new boolean[entry.size()];
        for (int id = entry.size() - 1; id >= 0; id--) {
            if (choice[id] > OpStrategy.REPLICATE || choice[id] == ONCE || choice[id] == TRIVIAL) {
                continue;
            }
            Instruction instruction = entry.instructions().get(id);
            boolean onlyOnce = true;
            for (Instruction user : users.get(id)) {
                onlyOnce &= !each(user.id());
            }
            if (!onlyOnce) {
                continue;
            }
            long bytesBefore = instruction.shape().sizeBytes();
            long bytesAfter = 0;
            int partial = 0;
            boolean widens = false;
            for (Instruction operand :
                    instruction.operands().stream().distinct().toList()) {
                if (each(operand.id())) {
                    partial++;
                    bytesAfter +=
                            accumulated[operand.id()] ? 0 : operand.shape().sizeBytes();
                    widens |= operand.array().dtype().bits()
                            < instruction.array().dtype().bits();
                }
            }
            boolean join = partial > 1 && joinLate;
            if ((bytesAfter <= bytesBefore && !widens) || join) {
                choice[id] = ONCE;
                afterAccumulation[id] = true;
                leaves.set(id, List.of(AxisState.REPLICATED));
                for (Instruction operand : instruction.operands()) {
                    accumulated[operand.id()] = each(operand.id());
                }
            }
        }
    }
}
