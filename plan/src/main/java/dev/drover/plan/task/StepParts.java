package dev.drover.plan.task;

import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.ComputationBuilder;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.Parameter;
import dev.drover.ir.ops.Tuple;
import dev.drover.plan.stage.CutStep;
import dev.drover.plan.stage.FreeValues;
import dev.drover.plan.stage.Phase;
import dev.drover.plan.stage.StageAssignment;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * A local step in parts: one for each stage, phase and level. Within PRE and POST a part of level n+1 uses values that other stages
 * made at level n at most; forward and backward work has one level.
 */
final class StepParts {
    /** Where an instruction is made; {@code piece} counts the programs of one level of POST. */
    record Key(int stage, Phase phase, int level, int piece) implements Comparable<Key> {
        private static final Comparator<Key> ORDER = Comparator.comparing(Key::phase)
                .thenComparing(Key::level)
                .thenComparing(Key::piece)
                .thenComparing(Key::stage);

        Key(int stage, Phase phase, int level) {
            this(stage, phase, level, 0);
        }

        @Override
        public int compareTo(Key other) {
            return ORDER.compare(this, other);
        }

        String text() {
            String name = "stage" + stage + "." + phase.name().toLowerCase(java.util.Locale.ROOT);
            return phase.perMicroBatch() ? name : name + level + (phase == Phase.POST ? "." + piece : "");
        }
    }

    private final LocalStep local;
    private final Computation computation;
    private final StageAssignment assignment;
    private final List<@Nullable Key> keyById = new ArrayList<>();
    private final boolean[] free;
    private final boolean[] stateByInput;
    private final TreeMap<Key, List<Instruction>> members = new TreeMap<>();
    /** Stages that need a value at all; where it is made is not counted. */
    private final List<TreeSet<Integer>> stagesById = new ArrayList<>();
    /** Parts that hand a value on. */
    private final Map<Integer, TreeSet<Key>> usersById = new HashMap<>();

    StepParts(LocalStep local, StageAssignment assignment) {
        this.local = local;
        this.computation = local.computation();
        this.assignment = assignment;
        this.free = local.freeValues();
        this.stateByInput = local.cut().step().stateByInput();
        for (Instruction instruction : computation.instructions()) {
            stagesById.add(new TreeSet<>());
            keyById.add(key(instruction));
        }
        makeTuplesWhereTheyAreTaken();
        new PostPieces(this).refine();
        for (Instruction instruction : computation.instructions()) {
            Key key = keyById.get(instruction.id());
            if (key != null && isProgramWork(instruction)) {
                members.computeIfAbsent(key, k -> new ArrayList<>()).add(instruction);
            }
        }
        members.forEach((key, list) -> {
            Set<Instruction> seen = new HashSet<>();
            for (Instruction instruction : list) {
                use(instruction, key, seen);
            }
        });
        for (Instruction instruction : computation.instructions()) {
            Key key = keyById.get(instruction.id());
            if (key != null && isTaskWork(instruction)) {
                usersById
                        .computeIfAbsent(instruction.operand(0).id(), k -> new TreeSet<>())
                        .add(key);
            }
        }
    }

    /** A program hands on arrays, not tuples. */
    private void makeTuplesWhereTheyAreTaken() {
        for (int i = computation.size() - 1; i >= 0; i--) {
            Instruction instruction = computation.instructions().get(i);
            for (Instruction operand : instruction.operands()) {
                if (operand.op() instanceof Tuple && keyById.get(i) != null) {
                    keyById.set(operand.id(), keyById.get(i));
                }
            }
        }
    }

    static boolean isTaskWork(Instruction instruction) {
        return FreeValues.isTaskWork(instruction);
    }

    Computation computation() {
        return computation;
    }

    List<Instruction> sources(Instruction instruction) {
        return FreeValues.sources(instruction, free);
    }

    void setPiece(int id, int piece) {
        Key key = keyById.get(id);
        if (key != null) {
            keyById.set(id, new Key(key.stage(), key.phase(), key.level(), piece));
        }
    }

    boolean isProgramWork(Instruction instruction) {
        return !free[instruction.id()]
                && !isTaskWork(instruction)
                && !(instruction.op() instanceof Parameter)
                && instruction != computation.root();
    }

    boolean isFree(int id) {
        return free[id];
    }

    /** Where a value is made, or for state fed; null for free values. */
    @Nullable
    Key key(int id) {
        return keyById.get(id);
    }

    private @Nullable Key key(Instruction instruction) {
        int id = instruction.id();
        if (free[id]) {
            return null;
        }
        int cutId = local.cutIdById().get(id);
        if (instruction.op() instanceof Parameter) {
            return new Key(assignment.stage(cutId), Phase.PRE, 0);
        }
        if (instruction == computation.root()) {
            return null;
        }
        if (instruction.takesATuple()) {
            return keyById.get(instruction.operand(0).id());
        }
        Phase phase = assignment.phase(cutId);
        int stage = assignment.stage(cutId);
        if (isTaskWork(instruction)) {
            Key made = keyById.get(instruction.operand(0).id());
            return new Key(made == null ? stage : made.stage(), Phase.POST, 0);
        }
        int level = 0;
        if (!phase.perMicroBatch()) {
            for (Instruction operand : FreeValues.sources(instruction, free)) {
                Key made = keyById.get(operand.id());
                if (made != null && made.phase() == phase && !isFedEverywhere(operand)) {
                    level = Math.max(level, made.level() + (made.stage() == stage ? 0 : 1));
                }
            }
        }
        return new Key(stage, phase, level);
    }

    /** Inputs that are not state: every stage that uses them gets them directly. */
    boolean isFedEverywhere(Instruction instruction) {
        if (!(instruction.op() instanceof Parameter parameter)) {
            return false;
        }
        CutStep.CutInput input = local.cut().inputs().get(parameter.number());
        return input.input() < 0 || !isState(input.input());
    }

    /** Whether an input lives on between steps. */
    boolean isState(int input) {
        return stateByInput[input];
    }

    /** Whether a value is an input that lives on between steps. */
    boolean isStateInput(Instruction value) {
        return value.op() instanceof Parameter && !isFedEverywhere(value);
    }

    /** @param seen free values whose operands the part uses already */
    private void use(Instruction user, Key key, Set<Instruction> seen) {
        for (Instruction operand : user.operands()) {
            if (free[operand.id()]) {
                if (seen.add(operand)) {
                    use(operand, key, seen);
                }
                continue;
            }
            Key made = keyById.get(operand.id());
            if ((made != null && !made.equals(key)) || operand.op() instanceof Parameter || isTaskWork(operand)) {
                needs(operand, key);
            }
        }
    }

    private void needs(Instruction value, Key key) {
        stagesById.get(value.id()).add(key.stage());
        usersById.computeIfAbsent(value.id(), k -> new TreeSet<>()).add(key);
    }

    /** Whether a program of a stage and phase takes a value. */
    boolean isUsedIn(Instruction value, int stage, Phase phase) {
        return usersById.getOrDefault(value.id(), new TreeSet<>()).stream()
                .anyMatch(user -> user.stage() == stage && user.phase() == phase);
    }

    /** Says that a stage needs a value at the end of the step. */
    void needAtEnd(Instruction value, int stage) {
        needs(value, new Key(stage, Phase.POST, Integer.MAX_VALUE, 0));
    }

    /** Stages whose programs, or whose end of the step, use a value. */
    SortedSet<Integer> stages(int id) {
        return stagesById.get(id);
    }

    /** Parts with work for programs, in order. */
    List<Key> keys() {
        return List.copyOf(members.keySet());
    }

    ValueRef value(Instruction instruction) {
        if (instruction.op() instanceof Parameter parameter) {
            CutStep.CutInput input = local.cut().inputs().get(parameter.number());
            return input.input() < 0
                    ? ValueRef.MICRO_BATCH_INDEX
                    : new ValueRef(instruction.name(), input.perMicroBatch());
        }
        Key key = keyById.get(instruction.id());
        return new ValueRef(instruction.name(), key != null && key.phase().perMicroBatch());
    }

    /** The program of a part. */
    Program program(Key key) {
        ComputationBuilder builder = new ComputationBuilder(key.text());
        @Nullable Instruction[] made = new @Nullable Instruction[computation.size()];
        List<ValueRef> inputs = new ArrayList<>();
        List<ValueRef> outputs = new ArrayList<>();
        List<Instruction> results = new ArrayList<>();
        for (Instruction instruction : members.getOrDefault(key, List.of())) {
            emit(instruction, builder, made, inputs);
            Instruction result = made[instruction.id()];
            if (isHandedOn(instruction) && result != null) {
                outputs.add(value(instruction));
                results.add(result);
            }
        }
        Instruction root = builder.add(new Tuple(results.size()), results);
        Computation arranged = CollectiveBuckets.arrange(builder.build(root));
        return new Program(key.text(), key.stage(), key.phase(), arranged, inputs, outputs);
    }

    /** Whether a value is used outside of the part that makes it. */
    boolean isHandedOn(Instruction instruction) {
        Key made = keyById.get(instruction.id());
        for (Key user : usersById.getOrDefault(instruction.id(), new TreeSet<>())) {
            if (!user.equals(made)) {
                return true;
            }
        }
        return false;
    }

    private Instruction emit(
            Instruction instruction, ComputationBuilder builder, @Nullable Instruction[] made, List<ValueRef> inputs) {
        Instruction done = made[instruction.id()];
        if (done != null) {
            return done;
        }
        List<Instruction> operands = new ArrayList<>();
        for (Instruction operand : instruction.operands()) {
            Instruction ready = made[operand.id()];
            if (ready == null && free[operand.id()]) {
                ready = emit(operand, builder, made, inputs);
            } else if (ready == null) {
                ready = builder.parameter(operand.name(), operand.shape());
                made[operand.id()] = ready;
                inputs.add(value(operand));
            }
            operands.add(ready);
        }
        Instruction copy = builder.add(instruction.op(), operands, instruction.name(), instruction.annotations());
        made[instruction.id()] = copy;
        return copy;
    }
}
