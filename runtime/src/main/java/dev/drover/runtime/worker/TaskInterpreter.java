package dev.drover.runtime.worker;

import dev.drover.ir.UserError;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.plan.memory.DeviceMemory;
import dev.drover.plan.memory.ProgramFootprint;
import dev.drover.plan.memory.WorkerLayout;
import dev.drover.plan.task.ExecutionPlan;
import dev.drover.plan.task.Feed;
import dev.drover.plan.task.Fetch;
import dev.drover.plan.task.Program;
import dev.drover.plan.task.Task;
import dev.drover.plan.task.ValueRef;
import dev.drover.plan.task.WorkerPlan;
import dev.drover.runtime.comm.Communicators;
import dev.drover.runtime.wire.HostTensor;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Runs one worker's part of an execution plan: its tasks in order, step after step.
 *
 * <p>Values by which it talks to the coordinator are named as their feeds (an input of the training step; for data the values of one
 * step, those of micro-batches stacked along a new first dim; they queue up, one for each step) and {@code output:N} (what a
 * fetch holds after a step).
 */
public final class TaskInterpreter implements Workload {

    private static final String OUTPUT = "output:";
    /** Facts with this prefix tell for a kind of memory how many bytes are for it. */
    public static final String MEMORY = "memory:";

    private static final int ONCE = -1;
    private static final int DATA_BLOCK_BYTES = 4 << 20;
    private static final ThreadMXBean CLOCK = ManagementFactory.getThreadMXBean();

    private final Device device;
    private final ExecutionPlan plan;
    private final WorkerPlan worker;
    private final Lanes lanes;
    private final WorkerLayout layout;
    private final Values values;
    private final Map<Integer, DeviceProgram> programByNumber = new TreeMap<>();
    private final Map<String, Feed> feedByName = new TreeMap<>();
    private final WaitingData waiting = new WaitingData(DATA_BLOCK_BYTES);
    private final Map<String, Queue<WaitingData.Value>> dataByName = new HashMap<>();
    /** Data of which the last piece is not there yet. */
    private WaitingData.@Nullable Value incoming;
    /** Data of the step that runs. */
    private final List<WaitingData.Value> taken = new ArrayList<>();

    private final Set<ValueRef> stateWithValue = new HashSet<>();
    /** What each task does, by its number. */
    private final List<Runnable> actions = new ArrayList<>();

    private volatile @Nullable Task current;

    /**
     * @param plan with this worker's part and the programs that it runs, at least
     * @param options of the load call, with the {@link InitialState}
     * @param communicators null when there is one worker only
     */
    public TaskInterpreter(
            Device device,
            ExecutionPlan plan,
            int rank,
            Map<String, String> options,
            @Nullable Communicators communicators) {
        this.device = device;
        this.plan = plan;
        this.worker = plan.workers().stream()
                .filter(w -> w.rank() == rank)
                .findFirst()
                .orElseThrow(() -> new IllegalArgumentException("The plan must have a part for rank (" + rank + ")."));
        this.layout = WorkerLayout.of(plan, worker, new Compiling());
        Device.Arena arena = device.allocate(layout.totalBytes());
        this.values = new Values(layout, arena);
        this.lanes = new Lanes(
                worker.tasks(),
                receive -> values.place(receive.value(), receive.microBatch()),
                communicators == null ? null : communicators.world());
        worker.feeds().forEach(feed -> feedByName.put(feed.wireName(), feed));
        programByNumber.forEach((number, program) -> program.bind(
                arena,
                layout.pool(number).offsetBytes(),
                layout.constants(number).offsetBytes(),
                communicators));
        declare();
        Set<ValueRef> sums = new HashSet<>();
        worker.tasks().forEach(task -> actions.add(action(task, sums)));
        InitialState initial = InitialState.of(options, worker.feeds());
        for (Feed feed : worker.feeds()) {
            if (feed.persistent()) {
                DeviceTensor place = values.place(feed.value(), ONCE);
                if (initial.make(feed, (shape, offset, bytes) -> device.upload(bytes, place, offset))) {
                    stateWithValue.add(feed.value());
                }
            }
        }
    }

    /** Compiles each program when the layout asks what it needs. */
    private final class Compiling implements DeviceMemory {
        @Override
        public long sizeBytes(ArrayShape shape) {
            return device.sizeBytes(shape);
        }

        @Override
        public ProgramFootprint footprint(Program program, Map<Integer, Integer> donations, WorkerPlan owner) {
            DeviceProgram compiled = device.compile(program, donations, owner.meshRanks(), owner.device());
            programByNumber.put(plan.programs().indexOf(program), compiled);
            return compiled.footprint();
        }
    }

    private void declare() {
        for (int m = 0; m < plan.microBatches(); m++) {
            ArrayShape scalar = ArrayShape.scalar(DType.S32);
            ByteBuffer bytes = HostTensor.allocate(scalar).data();
            bytes.putInt(0, m);
            values.declare(ValueRef.MICRO_BATCH_INDEX, m, scalar);
            device.upload(bytes, values.place(ValueRef.MICRO_BATCH_INDEX, m), 0);
        }
        for (Feed feed : worker.feeds()) {
            if (feed.persistent()) {
                values.declare(feed.value(), ONCE, feed.shape());
            }
        }
        for (Task task : worker.tasks()) {
            if (task instanceof Task.Run run) {
                Program program = plan.programs().get(run.program());
                for (ValueRef input : program.inputs()) {
                    declareFed(input, run.microBatch());
                }
                List<Instruction> results = program.computation().root().operands();
                for (int i = 0; i < results.size(); i++) {
                    values.declare(
                            program.outputs().get(i),
                            run.microBatch(),
                            results.get(i).array());
                }
            } else if (task instanceof Task.Receive receive) {
                values.declare(receive.value(), receive.microBatch(), receive.shape());
            } else if (task instanceof Task.Accumulate accumulate) {
                declareFed(accumulate.from(), accumulate.microBatch());
                DeviceTensor from = values.place(accumulate.from(), accumulate.microBatch());
                values.declare(accumulate.into(), ONCE, from.shape());
            } else if (task instanceof Task.Stack stack) {
                declareFed(stack.from(), stack.microBatch());
                values.declare(stack.into(), ONCE, stack.wholeShape());
            } else if (task instanceof Task.Send send) {
                declareFed(send.value(), send.microBatch());
            }
        }
    }

    private void declareFed(ValueRef value, int microBatch) {
        for (Feed feed : worker.feeds()) {
            if (feed.value().equals(value)) {
                values.declare(value, microBatch, feed.shape());
            }
        }
    }

    // --- values from and to the coordinator -------------------------------------------------------

    @Override
    public void put(String name, ArrayShape shape, long offset, ByteBuffer bytes) {
        @Nullable Feed feed = feedByName.get(name);
        if (feed == null) {
            throw new IllegalArgumentException("The value (" + name + ") must be fed to rank " + worker.rank() + ".");
        }
        boolean last = offset + bytes.remaining() == shape.sizeBytes();
        if (feed.persistent()) {
            DeviceTensor place = values.place(feed.value(), ONCE);
            if (!place.shape().equals(shape)) {
                throw new IllegalArgumentException("The shape (" + shape + ") of (" + name + ") must be that of"
                        + " rank " + worker.rank() + " (" + place.shape() + ").");
            }
            device.upload(bytes, place, offset);
            if (last) {
                stateWithValue.add(feed.value());
            }
            return;
        }
        WaitingData.Value value = offset == 0 || incoming == null ? waiting.allocate(shape) : incoming;
        value.put(offset, bytes);
        incoming = last ? null : value;
        if (last) {
            dataByName.computeIfAbsent(name, i -> new ArrayDeque<>()).add(value);
        }
    }

    @Override
    public ArrayShape shape(String name) {
        return fetched(name).place().shape();
    }

    @Override
    public ByteBuffer fetch(String name, long offset, int sizeBytes) {
        return device.download(fetched(name).get(), offset, sizeBytes);
    }

    private Values.Slot fetched(String name) {
        @Nullable Feed feed = feedByName.get(name);
        if (feed != null && feed.persistent()) {
            return values.slot(feed.value(), ONCE);
        }
        for (Fetch fetch : worker.fetches()) {
            if (name.equals(OUTPUT + fetch.output())) {
                return values.slot(fetch.value(), ONCE);
            }
        }
        throw new IllegalArgumentException("The value (" + name + ") must be one of rank " + worker.rank() + ".");
    }

    private void feedData(long step) {
        for (Feed feed : worker.feeds()) {
            if (feed.persistent()) {
                if (!stateWithValue.contains(feed.value())) {
                    throw new UserError(
                            "The input (" + feed.input() + ") of rank (" + worker.rank() + ") must have a value.");
                }
                continue;
            }
            @Nullable Queue<WaitingData.Value> data = dataByName.get(feed.wireName());
            WaitingData.@Nullable Value given = data == null ? null : data.poll();
            if (given == null) {
                throw new UserError("The input (" + feed.input() + ") of rank (" + worker.rank()
                        + ") must be given for step " + step + ".");
            }
            taken.add(given);
            feed(feed.value(), given);
        }
    }

    /** A value that no task uses has no place. */
    private void feed(ValueRef value, WaitingData.Value given) {
        if (!value.perMicroBatch()) {
            feed(value, ONCE, given, 0, given.shape().sizeBytes());
            return;
        }
        long[] dims = given.shape().dims();
        ArrayShape part = given.shape().withDims(Arrays.copyOfRange(dims, 1, dims.length));
        long partBytes = part.sizeBytes();
        for (int m = 0; m < plan.microBatches(); m++) {
            feed(value, m, given, m * partBytes, partBytes);
        }
    }

    private void feed(ValueRef value, int microBatch, WaitingData.Value given, long offset, long sizeBytes) {
        if (values.isDeclared(value, microBatch)) {
            values.slot(value, microBatch)
                    .writtenAtFirstUse(tensor -> given.slices(
                            offset, sizeBytes, (bytes, distance) -> device.upload(bytes, tensor, distance)));
        }
    }

    // --- a step -----------------------------------------------------------------------------------

    @Override
    public StepReport run(long step) {
        long startNanos = System.nanoTime();
        long startProcessorNanos = CLOCK.getCurrentThreadCpuTime();
        feedData(step);
        lanes.begin();
        for (int i = 0; i < actions.size(); i++) {
            current = worker.tasks().get(i);
            actions.get(i).run();
        }
        lanes.awaitSends();
        current = null;
        taken.forEach(waiting::release);
        taken.clear();
        Map<String, Double> scalars = scalars();
        return new StepReport(
                step,
                System.nanoTime() - startNanos,
                CLOCK.getCurrentThreadCpuTime() - startProcessorNanos,
                device.peakBytes(),
                scalars);
    }

    /**
     * What a task does, with the places of its values looked up.
     *
     * @param sums that earlier tasks have begun; a task that begins one is added
     */
    private Runnable action(Task task, Set<ValueRef> sums) {
        if (task instanceof Task.Run run) {
            return run(run);
        } else if (task instanceof Task.Send send) {
            Values.Slot value = values.slot(send.value(), send.microBatch());
            return () -> lanes.send(send, value.get());
        } else if (task instanceof Task.Receive receive) {
            Values.Slot value = values.slot(receive.value(), receive.microBatch());
            return () -> value.arrives(lanes.receive());
        } else if (task instanceof Task.Accumulate accumulate) {
            return accumulate(accumulate, sums.add(accumulate.into()));
        } else if (task instanceof Task.Stack stack) {
            return stack(stack);
        } else if (task instanceof Task.Free free) {
            // The layout knows when its place is used again; what arrives must have arrived before.
            Values.Slot value = values.slot(free.value(), free.microBatch());
            return () -> {
                DeviceTensor unused = value.get();
            };
        } else if (task instanceof Task.Update update) {
            return update(update);
        }
        throw new IllegalStateException("The task (" + task + ") must be known.");
    }

    private Runnable run(Task.Run run) {
        Program program = plan.programs().get(run.program());
        List<Values.Slot> inputs = program.inputs().stream()
                .map(input -> values.slot(input, run.microBatch()))
                .toList();
        List<DeviceTensor> outputs = program.outputs().stream()
                .map(output -> values.place(output, run.microBatch()))
                .toList();
        Runnable call = compiled(run.program())
                .on(inputs.stream().map(Values.Slot::place).toList(), outputs);
        return () -> {
            for (int i = 0; i < inputs.size(); i++) {
                DeviceTensor unused = inputs.get(i).get();
            }
            call.run();
        };
    }

    private boolean samePlace(ValueRef one, int microBatch, ValueRef other) {
        return layout.region(one, microBatch).offsetBytes()
                == layout.region(other, ONCE).offsetBytes();
    }

    /** A new state that was not written in the place of the old one is copied there. */
    private Runnable update(Task.Update update) {
        if (samePlace(update.from(), ONCE, update.state())) {
            return () -> {};
        }
        boolean sent = isSent(update.state());
        Values.Slot from = values.slot(update.from(), ONCE);
        DeviceTensor state = values.place(update.state(), ONCE);
        return () -> {
            if (sent) {
                lanes.awaitSends();
            }
            device.copy(from.get(), state);
        };
    }

    private boolean isSent(ValueRef value) {
        return worker.tasks().stream()
                .anyMatch(task -> task instanceof Task.Send send && send.value().equals(value));
    }

    /** The first term becomes the sum, in its place unless it may still be read. */
    private Runnable accumulate(Task.Accumulate task, boolean first) {
        Values.Slot from = values.slot(task.from(), task.microBatch());
        DeviceTensor into = values.place(task.into(), ONCE);
        boolean inPlace = samePlace(task.from(), task.microBatch(), task.into());
        return () -> {
            DeviceTensor term = from.get();
            if (!first) {
                device.combine(into, term, task.reduction());
            } else if (!inPlace) {
                device.copy(term, into);
            }
        };
    }

    private Runnable stack(Task.Stack task) {
        Values.Slot from = values.slot(task.from(), task.microBatch());
        DeviceTensor into = values.place(task.into(), ONCE);
        return () -> device.insert(from.get(), into, task.dim(), task.stride(), task.parts(), task.microBatch());
    }

    private DeviceProgram compiled(int program) {
        @Nullable DeviceProgram compiled = programByNumber.get(program);
        if (compiled == null) {
            throw new IllegalStateException("The program (" + program + ") must be compiled.");
        }
        return compiled;
    }

    /** Fetched numbers, such as the loss. */
    private Map<String, Double> scalars() {
        Map<String, Double> scalars = new TreeMap<>();
        for (Fetch fetch : worker.fetches()) {
            ArrayShape shape = fetch.slice().whole();
            if (shape.rank() == 0 && (shape.dtype() == DType.F32 || shape.dtype() == DType.F64)) {
                ByteBuffer bytes =
                        device.download(values.slot(fetch.value(), ONCE).get(), 0, Math.toIntExact(shape.sizeBytes()));
                scalars.put(
                        OUTPUT + fetch.output(), shape.dtype() == DType.F32 ? bytes.getFloat(0) : bytes.getDouble(0));
            }
        }
        return scalars;
    }

    @Override
    public Map<String, String> facts() {
        Map<String, String> facts = new TreeMap<>();
        facts.put("peakBytes", Long.toString(device.peakBytes()));
        layout.bytesByKind().forEach((kind, bytes) -> facts.put(MEMORY + kind.name(), Long.toString(bytes)));
        return facts;
    }

    @Override
    public String currentTask() {
        @Nullable Task task = current;
        if (task == null) {
            return "";
        }
        return task instanceof Task.Run run
                ? "run " + plan.programs().get(run.program()).name()
                        + (run.microBatch() < 0 ? "" : " of micro-batch " + run.microBatch())
                : task.toString();
    }

    @Override
    public void close() {
        lanes.close();
        values.close();
        programByNumber.values().forEach(DeviceProgram::close);
        programByNumber.clear();
        device.close();
    }
}
