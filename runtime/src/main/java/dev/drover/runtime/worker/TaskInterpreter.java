package dev.drover.runtime.worker;

import dev.drover.ir.UserError;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.plan.task.ExecutionPlan;
import dev.drover.plan.task.Feed;
import dev.drover.plan.task.Fetch;
import dev.drover.plan.task.Program;
import dev.drover.plan.task.Task;
import dev.drover.plan.task.ValueRef;
import dev.drover.plan.task.WorkerPlan;
import dev.drover.runtime.comm.Communicators;
import dev.drover.runtime.wire.HostTensor;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Runs one worker's part of an execution plan: its tasks in order, step after step.
 *
 * <p>Values by which it talks to the coordinator are named {@code input:N} (an input of the training step; for data the values of one
 * step, those of micro-batches stacked along a new first dim; they queue up, one for each step) and {@code output:N} (what a
 * fetch holds after a step).
 */
public final class TaskInterpreter implements Workload {

    private static final String INPUT = "input:";
    private static final String OUTPUT = "output:";
    private static final int ONCE = -1;

    private final Device device;
    private final ExecutionPlan plan;
    private final WorkerPlan worker;
    private final Lanes lanes;
    private final Values values = new Values();
    private final Map<Integer, DeviceProgram> programByNumber = new TreeMap<>();
    private final Map<Integer, Map<Integer, Integer>> donationsByProgram = new HashMap<>();
    private final Map<Integer, Feed> feedByInput = new TreeMap<>();
    private final Map<Integer, Queue<HostTensor>> dataByInput = new HashMap<>();
    private final List<DeviceTensor> microBatchNumbers = new ArrayList<>();
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
        this.lanes =
                new Lanes(device, worker.tasks(), communicators == null ? null : communicators.world(), "send lane");
        worker.feeds().forEach(feed -> feedByInput.put(feed.input(), feed));
        for (int m = 0; m < plan.microBatches(); m++) {
            ByteBuffer bytes = HostTensor.allocate(ArrayShape.scalar(DType.S32)).data();
            bytes.putInt(0, m);
            microBatchNumbers.add(device.upload(new HostTensor(ArrayShape.scalar(DType.S32), bytes)));
        }
        compile(communicators);
        InitialState initial = InitialState.of(options, worker.feeds());
        for (Feed feed : worker.feeds()) {
            if (feed.persistent()) {
                initial.make(feed).ifPresent(value -> values.put(feed.value(), ONCE, device.upload(value)));
            }
        }
    }

    private void compile(@Nullable Communicators communicators) {
        for (Task task : worker.tasks()) {
            if (task instanceof Task.Run run && !programByNumber.containsKey(run.program())) {
                Map<Integer, Integer> donations = Donations.of(run.program(), plan.programs(), worker.tasks());
                donationsByProgram.put(run.program(), donations);
                programByNumber.put(
                        run.program(),
                        device.compile(
                                plan.programs().get(run.program()),
                                donations,
                                worker.meshRanks(),
                                worker.device(),
                                communicators));
            }
        }
    }

    // --- values from and to the coordinator -------------------------------------------------------

    @Override
    public void put(String name, HostTensor value) {
        int input = number(name, INPUT);
        @Nullable Feed feed = feedByInput.get(input);
        if (feed == null) {
            throw new IllegalArgumentException("The input (" + input + ") must be one of rank " + worker.rank() + ".");
        }
        if (feed.persistent()) {
            values.put(feed.value(), ONCE, device.upload(value));
        } else {
            dataByInput.computeIfAbsent(input, i -> new ArrayDeque<>()).add(value);
        }
    }

    @Override
    public HostTensor fetch(String name) {
        if (name.startsWith(INPUT)) {
            @Nullable Feed feed = feedByInput.get(number(name, INPUT));
            if (feed != null && feed.persistent()) {
                return device.download(values.get(feed.value(), ONCE).tensor());
            }
        } else {
            int output = number(name, OUTPUT);
            for (Fetch fetch : worker.fetches()) {
                if (fetch.output() == output) {
                    return device.download(values.get(fetch.value(), ONCE).tensor());
                }
            }
        }
        throw new IllegalArgumentException("The value (" + name + ") must be one of rank " + worker.rank() + ".");
    }

    private static int number(String name, String prefix) {
        if (!name.startsWith(prefix)) {
            throw new IllegalArgumentException("The value (" + name + ") must begin with (" + prefix + ").");
        }
        return Integer.parseInt(name.substring(prefix.length()));
    }

    private void feedData(long step) {
        for (Feed feed : feedByInput.values()) {
            if (feed.persistent()) {
                if (!values.contains(feed.value(), ONCE)) {
                    throw new UserError(
                            "The input (" + feed.input() + ") of rank (" + worker.rank() + ") must have a value.");
                }
                continue;
            }
            @Nullable Queue<HostTensor> data = dataByInput.get(feed.input());
            @Nullable HostTensor given = data == null ? null : data.poll();
            if (given == null) {
                throw new UserError("The input (" + feed.input() + ") of rank (" + worker.rank()
                        + ") must be given for step " + step + ".");
            }
            feed(feed.value(), given);
        }
    }

    private void feed(ValueRef value, HostTensor given) {
        if (!value.perMicroBatch()) {
            values.put(value, ONCE, device.upload(given));
            return;
        }
        long[] dims = given.shape().dims();
        ArrayShape part = given.shape().withDims(Arrays.copyOfRange(dims, 1, dims.length));
        int partBytes = Math.toIntExact(part.sizeBytes());
        for (int m = 0; m < plan.microBatches(); m++) {
            ByteBuffer bytes = given.data().position(m * partBytes).limit((m + 1) * partBytes);
            values.put(value, m, device.upload(new HostTensor(part, bytes.slice())));
        }
    }

    // --- a step -----------------------------------------------------------------------------------

    @Override
    public StepReport run(long step) {
        long startNanos = System.nanoTime();
        for (Fetch fetch : worker.fetches()) {
            if (!isState(fetch.value())) {
                values.free(fetch.value(), ONCE);
            }
        }
        feedData(step);
        lanes.begin();
        for (Task task : worker.tasks()) {
            current = task;
            perform(task);
        }
        lanes.end();
        current = null;
        Map<String, Double> scalars = scalars();
        return new StepReport(step, System.nanoTime() - startNanos, device.peakBytes(), scalars);
    }

    private boolean isState(ValueRef value) {
        return worker.feeds().stream()
                .anyMatch(feed -> feed.persistent() && feed.value().equals(value));
    }

    private void perform(Task task) {
        if (task instanceof Task.Run run) {
            run(run);
        } else if (task instanceof Task.Send send) {
            lanes.send(send, values.get(send.value(), send.microBatch()));
        } else if (task instanceof Task.Receive receive) {
            values.put(receive.value(), receive.microBatch(), lanes.receive());
        } else if (task instanceof Task.Accumulate accumulate) {
            accumulate(accumulate);
        } else if (task instanceof Task.Stack stack) {
            stack(stack);
        } else if (task instanceof Task.Free free) {
            values.free(free.value(), free.microBatch());
        } else if (task instanceof Task.Update update) {
            values.put(update.state(), ONCE, values.take(update.from(), ONCE));
        } else {
            throw new IllegalStateException("The task (" + task + ") must be known.");
        }
    }

    private void run(Task.Run run) {
        Program program = plan.programs().get(run.program());
        List<DeviceTensor> inputs = new ArrayList<>(program.inputs().size());
        for (ValueRef input : program.inputs()) {
            inputs.add(
                    input.equals(ValueRef.MICRO_BATCH_INDEX)
                            ? microBatchNumbers.get(run.microBatch())
                            : values.get(input, run.microBatch()).tensor());
        }
        List<DeviceTensor> outputs = compiled(run.program()).run(inputs);
        for (int donated : donations(run.program()).values()) {
            values.free(program.inputs().get(donated), run.microBatch());
        }
        for (int i = 0; i < outputs.size(); i++) {
            values.put(program.outputs().get(i), run.microBatch(), outputs.get(i));
        }
    }

    private DeviceProgram compiled(int program) {
        @Nullable DeviceProgram compiled = programByNumber.get(program);
        if (compiled == null) {
            throw new IllegalStateException("The program (" + program + ") must be compiled.");
        }
        return compiled;
    }

    private Map<Integer, Integer> donations(int program) {
        return donationsByProgram.getOrDefault(program, Map.of());
    }

    private void accumulate(Task.Accumulate task) {
        Values.Held from = values.take(task.from(), task.microBatch());
        if (!values.contains(task.into(), ONCE)) {
            // The sum is written to from now on, so it must not be a buffer that is still being sent.
            values.put(task.into(), ONCE, from.isShared() ? copy(from) : from);
            return;
        }
        device.combine(values.get(task.into(), ONCE).tensor(), from.tensor(), task.reduction());
        from.release();
    }

    private Values.Held copy(Values.Held from) {
        DeviceTensor copy = device.upload(device.download(from.tensor()));
        from.release();
        return new Values.Held(copy, null);
    }

    private void stack(Task.Stack task) {
        Values.Held from = values.take(task.from(), task.microBatch());
        if (!values.contains(task.into(), ONCE)) {
            values.put(task.into(), ONCE, device.allocate(task.wholeShape()));
        }
        device.insert(
                from.tensor(),
                values.get(task.into(), ONCE).tensor(),
                task.dim(),
                task.stride(),
                task.parts(),
                task.microBatch());
        from.release();
    }

    /** Fetched numbers, such as the loss. */
    private Map<String, Double> scalars() {
        Map<String, Double> scalars = new TreeMap<>();
        for (Fetch fetch : worker.fetches()) {
            ArrayShape shape = fetch.slice().whole();
            if (shape.rank() == 0 && (shape.dtype() == DType.F32 || shape.dtype() == DType.F64)) {
                ByteBuffer bytes = device.download(
                                values.get(fetch.value(), ONCE).tensor())
                        .data();
                scalars.put(
                        OUTPUT + fetch.output(), shape.dtype() == DType.F32 ? bytes.getFloat(0) : bytes.getDouble(0));
            }
        }
        return scalars;
    }

    @Override
    public Map<String, String> facts() {
        return Map.of("peakBytes", Long.toString(device.peakBytes()));
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
        microBatchNumbers.forEach(DeviceTensor::close);
        microBatchNumbers.clear();
        device.close();
    }
}
