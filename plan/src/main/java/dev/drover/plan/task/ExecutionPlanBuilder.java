package dev.drover.plan.task;

import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.ComputationBuilder;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.graph.OutputRole;
import dev.drover.ir.graph.TrainingStep;
import dev.drover.ir.ops.Copy;
import dev.drover.ir.ops.Parameter;
import dev.drover.ir.type.ArrayShape;
import dev.drover.plan.mesh.Mesh;
import dev.drover.plan.schedule.Action;
import dev.drover.plan.schedule.Schedule;
import dev.drover.plan.schedule.ScheduleLength;
import dev.drover.plan.sharding.AxisState;
import dev.drover.plan.sharding.Sharding;
import dev.drover.plan.stage.Accumulate;
import dev.drover.plan.stage.CutStep;
import dev.drover.plan.stage.Phase;
import dev.drover.plan.stage.Stack;
import dev.drover.plan.stage.StageAssignment;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.IntStream;

/**
 * Cuts a local step into programs by stage and phase and orders the work of every worker. Rank = stage * devices of a mesh + device.
 *
 * <p>No deadlock is possible: all programs are put in one order (by the time at which they end if the schedule runs with the given
 * durations and free communication), each is followed by the transfers of what it made, and the list of a worker is what concerns it,
 * in that order. The first thing in the order that has not happened yet is always the next of all workers that it concerns.
 */
public final class ExecutionPlanBuilder {
    private final LocalStep local;
    private final TrainingStep step;
    private final Computation computation;
    private final Schedule schedule;
    private final ScheduleLength.Durations durations;
    private final StepParts parts;
    private final int devices;
    private final List<Program> programs = new ArrayList<>();
    private final Map<StepParts.Key, Integer> programByKey = new HashMap<>();
    /** Values that a program hands on, and accumulators and stacks, by where they are made or filled. */
    private final Map<StepParts.Key, List<Instruction>> handedOnByKey = new HashMap<>();

    private final List<Instruction> combining = new ArrayList<>();
    /** Inputs of the step that are given once a step. */
    private final Map<Integer, Instruction> stateParameterByInput = new HashMap<>();

    private final List<ArrayShape> inputShapes;
    private final List<ArrayShape> outputShapes;
    /** By stage, for all its devices; sends and receives name the other stage. */
    private final List<List<Task>> tasksByStage = new ArrayList<>();

    private final List<Map<Set<ValueRef>, List<Task>>> tasksByStageAndKept = new ArrayList<>();

    private ExecutionPlanBuilder(
            LocalStep local, StageAssignment assignment, Schedule schedule, ScheduleLength.Durations durations) {
        this.local = withOutputsApart(local);
        this.step = local.cut().step();
        this.computation = this.local.computation();
        this.schedule = schedule;
        this.durations = durations;
        this.devices = local.mesh().devices();
        this.parts = new StepParts(this.local, assignment);
        for (int number = 0; number < local.cut().inputs().size(); number++) {
            CutStep.CutInput input = local.cut().inputs().get(number);
            if (input.input() >= 0 && input.cut() == null) {
                stateParameterByInput.putIfAbsent(
                        input.input(), computation.parameters().get(number));
            }
        }
        this.inputShapes = step.inputShapes();
        this.outputShapes = step.outputShapes();
    }

    /**
     * The plan of a local step.
     *
     * @param durations estimated lengths of each stage's passes; they only order what the schedule leaves open
     */
    public static ExecutionPlan build(
            LocalStep local, StageAssignment assignment, Schedule schedule, ScheduleLength.Durations durations) {
        if (schedule.stages() != assignment.stages()
                || schedule.microBatches() != local.cut().microBatches()) {
            throw new IllegalArgumentException(
                    "The schedule (" + schedule.stages() + " stages, " + schedule.microBatches()
                            + " micro-batches) must be for " + assignment.stages() + " stages and "
                            + local.cut().microBatches() + " micro-batches.");
        }
        return new ExecutionPlanBuilder(local, assignment, schedule, durations).build();
    }

    /**
     * With every forward pass and every hop taking one unit and every backward pass two. Slow hops in mind, receives stand early
     * enough in the lists to overlap with computing; where hops are fast in fact, nothing is lost.
     */
    public static ExecutionPlan build(LocalStep local, StageAssignment assignment, Schedule schedule) {
        return build(local, assignment, schedule, ScheduleLength.Durations.uniform(assignment.stages(), 1, 2, 1));
    }

    /**
     * Copies outputs that are an input, or that another output is too, so that each state moves into its place by itself.
     */
    private static LocalStep withOutputsApart(LocalStep local) {
        Computation from = local.computation();
        List<OutputRole> roles = local.cut().step().outputs();
        Set<Integer> seen = new HashSet<>();
        Set<Integer> copied = new TreeSet<>();
        for (int i = 0; i < roles.size(); i++) {
            Instruction output = from.root().operand(i);
            boolean unchanged = output.op() instanceof Parameter parameter
                    && roles.get(i)
                            .equals(OutputRole.update(
                                    local.cut().inputs().get(parameter.number()).input()));
            if (!unchanged && (!seen.add(output.id()) || output.op() instanceof Parameter)) {
                copied.add(i);
            }
        }
        if (copied.isEmpty()) {
            return local;
        }
        ComputationBuilder builder = new ComputationBuilder(from.name());
        List<Integer> cutIds = new ArrayList<>();
        List<Instruction> made = new ArrayList<>();
        for (Instruction instruction : from.instructions()) {
            List<Instruction> operands = new ArrayList<>();
            for (int k = 0; k < instruction.operands().size(); k++) {
                Instruction operand = instruction.operand(k);
                boolean copy = instruction == from.root() && copied.contains(k);
                operands.add(copy ? builder.add(new Copy(), made.get(operand.id())) : made.get(operand.id()));
                if (copy) {
                    cutIds.add(local.cutIdById().get(operand.id()));
                }
            }
            made.add(builder.add(instruction.op(), operands, instruction.name(), instruction.annotations()));
            cutIds.add(local.cutIdById().get(instruction.id()));
        }
        return new LocalStep(
                local.cut(),
                local.mesh(),
                builder.build(made.get(from.root().id())),
                cutIds,
                local.inputShardings(),
                local.outputShardings());
    }

    private ExecutionPlan build() {
        for (int i = 0; i < step.outputs().size(); i++) {
            Instruction output = computation.root().operand(i);
            parts.needAtEnd(output, outputStage(i));
        }
        for (int stage = 0; stage < schedule.stages(); stage++) {
            tasksByStage.add(new ArrayList<>());
            tasksByStageAndKept.add(new HashMap<>());
        }
        for (StepParts.Key key : parts.keys()) {
            programByKey.put(key, programs.size());
            programs.add(parts.program(key));
        }
        for (Instruction instruction : computation.instructions()) {
            StepParts.Key key = parts.key(instruction.id());
            if (StepParts.isTaskWork(instruction)) {
                combining.add(instruction);
            } else if (key != null && !(instruction.op() instanceof Parameter) && parts.isHandedOn(instruction)) {
                handedOnByKey.computeIfAbsent(key, k -> new ArrayList<>()).add(instruction);
            }
        }
        addPre();
        addMicroBatches();
        addPost();
        List<WorkerPlan> workers = new ArrayList<>();
        for (int stage = 0; stage < schedule.stages(); stage++) {
            // A copy that is not copied again by each of the workers.
            List<Integer> meshRanks = List.copyOf(IntStream.range(stage * devices, (stage + 1) * devices)
                    .boxed()
                    .toList());
            for (int device = 0; device < devices; device++) {
                workers.add(worker(stage, device, meshRanks));
            }
        }
        ExecutionPlan plan = new ExecutionPlan(schedule.microBatches(), programs, workers);
        ExecutionPlanChecker.check(plan);
        return plan;
    }

    private int outputStage(int output) {
        OutputRole role = step.outputs().get(output);
        if (role.kind() == OutputRole.Kind.UPDATE) {
            return madeOn(stateParameter(role.input()));
        }
        return madeOn(computation.root().operand(output));
    }

    private Instruction stateParameter(int input) {
        Instruction parameter = stateParameterByInput.get(input);
        if (parameter == null) {
            throw new IllegalArgumentException("The input (" + input + ") that is updated must not be cut along time.");
        }
        return parameter;
    }

    private int madeOn(Instruction value) {
        StepParts.Key key = parts.key(value.id());
        if (key == null) {
            throw new IllegalStateException("The value (" + value.name() + ") must be made on a stage.");
        }
        return key.stage();
    }

    private void addPre() {
        for (Instruction parameter : computation.parameters()) {
            if (!parts.isFedEverywhere(parameter)) {
                transfer(parameter, -1);
            }
        }
        runAll(Phase.PRE);
    }

    private record Event(double end, int stage, int position, Action action) {}

    private void addMicroBatches() {
        ScheduleLength lengths = ScheduleLength.of(schedule, durations);
        List<Event> events = new ArrayList<>();
        for (int stage = 0; stage < schedule.stages(); stage++) {
            for (int i = 0; i < schedule.stage(stage).size(); i++) {
                events.add(new Event(
                        lengths.endByStage().get(stage).get(i),
                        stage,
                        i,
                        schedule.stage(stage).get(i)));
            }
        }
        events.sort(Comparator.comparing(Event::end).thenComparing(Event::stage).thenComparing(Event::position));
        for (Event event : events) {
            Phase phase = event.action().forward() ? Phase.FORWARD : Phase.BACKWARD;
            run(new StepParts.Key(event.stage(), phase, 0), event.action().microBatch());
            combine(event.stage(), phase, event.action().microBatch());
        }
    }

    private void addPost() {
        for (Instruction instruction : combining) {
            transfer(instruction, -1);
        }
        runAll(Phase.POST);
        List<List<Task.Update>> updatesByStage = new ArrayList<>();
        for (int stage = 0; stage < schedule.stages(); stage++) {
            updatesByStage.add(new ArrayList<>());
        }
        for (int i = 0; i < step.outputs().size(); i++) {
            OutputRole role = step.outputs().get(i);
            Instruction output = computation.root().operand(i);
            if (role.kind() == OutputRole.Kind.UPDATE && !(output.op() instanceof Parameter)) {
                Instruction state = stateParameter(role.input());
                updatesByStage.get(madeOn(state)).add(new Task.Update(parts.value(output), parts.value(state)));
            }
        }
        for (int stage = 0; stage < schedule.stages(); stage++) {
            tasksByStage.set(
                    stage, BufferLife.withUpdates(tasksByStage.get(stage), programs, updatesByStage.get(stage)));
        }
    }

    private void runAll(Phase phase) {
        for (StepParts.Key key : parts.keys()) {
            if (key.phase() == phase) {
                run(key, -1);
            }
        }
    }

    private void run(StepParts.Key key, int microBatch) {
        Integer program = programByKey.get(key);
        if (program == null) {
            return;
        }
        add(key.stage(), new Task.Run(program, microBatch));
        for (Instruction value : handedOnByKey.getOrDefault(key, List.of())) {
            transfer(value, microBatch);
        }
    }

    /** Sends a value from where it is made to each other stage that uses it, once. */
    private void transfer(Instruction value, int microBatch) {
        int from = madeOn(value);
        for (int to : parts.stages(value.id())) {
            if (to != from) {
                ArrayShape shape = value.array();
                add(from, new Task.Send(parts.value(value), shape, microBatch, to));
                add(to, new Task.Receive(parts.value(value), shape, microBatch, from));
            }
        }
    }

    private void combine(int stage, Phase phase, int microBatch) {
        for (Instruction instruction : combining) {
            if (madeOn(instruction) != stage) {
                continue;
            }
            Instruction term = instruction.operand(0);
            StepParts.Key key = parts.key(term.id());
            boolean fed = term.op() instanceof Parameter || key == null;
            // It takes the term with it, so it waits for the last program that reads the term.
            Phase made = fed || key == null ? Phase.FORWARD : key.phase();
            Phase last = parts.isUsedIn(term, stage, Phase.BACKWARD) ? Phase.BACKWARD : made;
            if (phase != last) {
                continue;
            }
            ValueRef into = parts.value(instruction);
            if (instruction.op() instanceof Accumulate accumulate) {
                add(stage, new Task.Accumulate(parts.value(term), microBatch, into, accumulate.reduction()));
            } else if (instruction.op() instanceof Stack stack) {
                add(
                        stage,
                        new Task.Stack(
                                parts.value(term),
                                microBatch,
                                into,
                                instruction.array(),
                                stack.dim(),
                                stack.stride(),
                                stack.parts()));
            }
        }
    }

    private void add(int stage, Task task) {
        tasksByStage.get(stage).add(task);
    }

    private WorkerPlan worker(int stage, int device, List<Integer> meshRanks) {
        List<Feed> feeds = feeds(stage, device);
        List<Fetch> fetches = fetches(stage, device);
        Set<ValueRef> kept = BufferLife.kept(feeds, fetches);
        // Most devices of a stage keep the same values.
        List<Task> stageTasks = tasksByStageAndKept
                .get(stage)
                .computeIfAbsent(kept, k -> List.copyOf(BufferLife.withFrees(tasksByStage.get(stage), programs, k)));
        if (stageTasks.stream().noneMatch(task -> task instanceof Task.Send || task instanceof Task.Receive)) {
            return new WorkerPlan(stage * devices + device, stage, meshRanks, feeds, stageTasks, fetches);
        }
        List<Task> tasks = new ArrayList<>();
        for (Task stageTask : stageTasks) {
            Task task = stageTask;
            if (task instanceof Task.Send send) {
                task = new Task.Send(send.value(), send.shape(), send.microBatch(), send.toRank() * devices + device);
            } else if (task instanceof Task.Receive receive) {
                task = new Task.Receive(
                        receive.value(), receive.shape(), receive.microBatch(), receive.fromRank() * devices + device);
            }
            tasks.add(task);
        }
        return new WorkerPlan(stage * devices + device, stage, meshRanks, feeds, tasks, fetches);
    }

    private List<Feed> feeds(int stage, int device) {
        Mesh mesh = local.mesh();
        List<Feed> feeds = new ArrayList<>();
        for (int number = 0; number < local.cut().inputs().size(); number++) {
            CutStep.CutInput input = local.cut().inputs().get(number);
            Instruction parameter = computation.parameters().get(number);
            if (input.input() < 0) {
                continue;
            }
            boolean here = parts.isFedEverywhere(parameter)
                    ? parts.stages(parameter.id()).contains(stage) || combinedHere(parameter, stage)
                    : madeOn(parameter) == stage;
            if (!here) {
                continue;
            }
            TensorSlice ofShape = TensorSlice.of(
                    local.cut().computation().parameters().get(number).array(),
                    local.inputShardings().get(number),
                    mesh,
                    device);
            TensorSlice slice = new TensorSlice(inputShapes.get(input.input()), ofShape.cuts());
            feeds.add(
                    new Feed(parts.value(parameter), input.input(), slice, parts.isState(input.input()), input.cut()));
        }
        return feeds;
    }

    private boolean combinedHere(Instruction parameter, int stage) {
        for (Instruction instruction : combining) {
            if (instruction.operand(0) == parameter && madeOn(instruction) == stage) {
                return true;
            }
        }
        return false;
    }

    private List<Fetch> fetches(int stage, int device) {
        List<Fetch> fetches = new ArrayList<>();
        for (int i = 0; i < step.outputs().size(); i++) {
            Sharding sharding = local.outputShardings().get(i);
            if (outputStage(i) != stage || !isFirstCopy(sharding, device)) {
                continue;
            }
            OutputRole role = step.outputs().get(i);
            ValueRef value = role.kind() == OutputRole.Kind.UPDATE
                    ? parts.value(stateParameter(role.input()))
                    : parts.value(computation.root().operand(i));
            fetches.add(new Fetch(value, i, TensorSlice.of(outputShapes.get(i), sharding, local.mesh(), device)));
        }
        return fetches;
    }

    /** Of devices that hold the same piece, one is asked. */
    private boolean isFirstCopy(Sharding sharding, int device) {
        for (int axis = 0; axis < local.mesh().rank(); axis++) {
            if (!(sharding.axis(axis) instanceof AxisState.Cut) && local.mesh().coordinate(device, axis) != 0) {
                return false;
            }
        }
        return true;
    }
}
