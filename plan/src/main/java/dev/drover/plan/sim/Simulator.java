package dev.drover.plan.sim;

import dev.drover.plan.cluster.Cluster;
import dev.drover.plan.cluster.Measured;
import dev.drover.plan.memory.DeviceMemory;
import dev.drover.plan.memory.WorkerLayout;
import dev.drover.plan.memory.WorkerLayouts;
import dev.drover.plan.task.ExecutionPlan;
import dev.drover.plan.task.Feed;
import dev.drover.plan.task.Lookahead;
import dev.drover.plan.task.Program;
import dev.drover.plan.task.Task;
import dev.drover.plan.task.ValueRef;
import dev.drover.plan.task.WorkerPlan;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Interprets an execution plan in simulated time. A worker takes its tasks in order: programs and combinations occupy its compute lane;
 * a send goes to its lane once all before it in the list have ended, a receive a few receives earlier (see {@link Lookahead}), and the
 * list goes on. A transfer runs when it is the next of both lanes. The devices of a mesh run a program in step. Worker r is device r of the
 * cluster. Devices that share processors are the faster the fewer of them compute.
 *
 * <pre>
 * rank 0   compute  [F0][F1]          [B0][F2]
 *          send         [0->1]  ...
 * rank 1   receive      [0->1]
 *          compute            [F0][B0]
 * </pre>
 */
public final class Simulator {
    private final ExecutionPlan plan;
    private final ProgramCost cost;
    private final List<Worker> workers = new ArrayList<>();
    private final Map<Integer, Mesh> meshByFirstRank = new HashMap<>();
    private final Network network;
    private final List<Span> spans = new ArrayList<>();
    private final Map<String, ProgramCost.ProgramTime> timeByProgramAndMesh = new HashMap<>();
    private final Measured measured;
    private final int processors;
    private final int devices;
    private double now;

    /** A value of one micro-batch, or of the step (-1). */
    private record Buffer(ValueRef value, int microBatch) {
        static Buffer of(ValueRef value, int microBatch) {
            return new Buffer(value, value.perMicroBatch() ? microBatch : -1);
        }
    }

    /** What a compute lane does; the rest of its time is for collectives. */
    private record Activity(String label, int microBatch, double startNanos, double computeShare) {}

    private Simulator(ExecutionPlan plan, Cluster cluster, ProgramCost cost, DeviceMemory memory) {
        if (plan.workers().size() > cluster.devices()) {
            throw new IllegalArgumentException(
                    "The workers (" + plan.workers().size() + ") of a plan must be at most the " + cluster.devices()
                            + " devices of cluster (" + cluster.name() + ").");
        }
        this.plan = plan;
        this.cost = cost;
        this.network = new Network(cluster);
        WorkerLayouts layouts = new WorkerLayouts(plan, memory);
        this.measured = cluster.measured();
        this.processors = measured.processors();
        this.devices = cluster.devices();
        for (WorkerPlan worker : plan.workers()) {
            Mesh mesh = meshByFirstRank.computeIfAbsent(worker.meshRanks().get(0), rank -> new Mesh());
            workers.add(new Worker(
                    worker,
                    mesh,
                    layouts.of(worker),
                    cluster.deviceType(worker.rank()).memoryBytes()));
            mesh.workers.add(workers.get(workers.size() - 1));
        }
    }

    /** The devices that run programs in step. Whoever comes to a program waits; the last one begins it for all. */
    private static final class Mesh {
        private final List<Worker> workers = new ArrayList<>();
        private int waiting;
    }

    /** One step on devices whose backend is not known. */
    public static SimulatedStep simulate(ExecutionPlan plan, Cluster cluster, ProgramCost cost) {
        return simulate(plan, cluster, cost, DeviceMemory.ESTIMATE);
    }

    /** One step. */
    public static SimulatedStep simulate(ExecutionPlan plan, Cluster cluster, ProgramCost cost, DeviceMemory memory) {
        return new Simulator(plan, cluster, cost, memory).run();
    }

    private SimulatedStep run() {
        while (true) {
            boolean moved = true;
            while (moved) {
                moved = false;
                for (Worker worker : workers) {
                    moved |= worker.advance();
                }
                moved |= startTransfers();
            }
            double speed = speed();
            double next = network.nextNanos();
            for (Worker worker : workers) {
                next = Math.min(next, worker.endsAt(speed));
            }
            if (Double.isInfinite(next)) {
                break;
            }
            for (Worker worker : workers) {
                worker.work((next - now) * speed, worker.endsAt(speed) <= next);
            }
            for (Network.Transfer transfer : network.advance(next)) {
                now = next;
                arrive(transfer);
            }
            now = next;
        }
        List<DeviceTime> devices = new ArrayList<>();
        List<MemoryUse> memory = new ArrayList<>();
        List<Integer> stages = new ArrayList<>();
        for (Worker worker : workers) {
            if (worker.next < worker.plan.tasks().size()) {
                throw new IllegalStateException(
                        "The task (" + worker.plan.tasks().get(worker.next) + ") of rank " + worker.plan.rank()
                                + " must be able to run; the plan deadlocks.");
            }
            devices.add(worker.time(now));
            memory.add(worker.memoryUse());
            stages.add(worker.plan.stage());
        }
        spans.sort(
                Comparator.comparing(Span::startNanos).thenComparing(Span::rank).thenComparing(Span::lane));
        return new SimulatedStep(now, devices, memory, spans, stages);
    }

    /**
     * How much faster than measured the devices that compute now are: times were measured with all devices sharing the processors.
     */
    private double speed() {
        long active =
                workers.stream().filter(worker -> worker.remainingNanos > 0).count();
        if (processors == 0 || active == 0) {
            return 1;
        }
        return Math.min(1, (double) processors / active) / Math.min(1, (double) processors / devices);
    }

    private boolean startTransfers() {
        boolean started = false;
        for (Worker sender : workers) {
            Task.Send send = sender.sends.peek();
            if (send == null || sender.sending || !sender.has(Buffer.of(send.value(), send.microBatch()))) {
                continue;
            }
            Worker receiver = workers.get(send.toRank());
            Task.Receive receive = receiver.receives.peek();
            if (receive == null
                    || receiver.receiving
                    || receive.fromRank() != sender.plan.rank()
                    || !receive.value().equals(send.value())
                    || receive.microBatch() != send.microBatch()) {
                continue;
            }
            sender.sending = true;
            receiver.receiving = true;
            network.start(sender.plan.rank(), receiver.plan.rank(), send.shape().sizeBytes(), now);
            started = true;
        }
        return started;
    }

    private void arrive(Network.Transfer transfer) {
        Worker sender = workers.get(transfer.from);
        Worker receiver = workers.get(transfer.to);
        Task.Send send = sender.sends.remove();
        receiver.receives.remove();
        sender.sending = false;
        receiver.receiving = false;
        String label = send.value().name();
        spans.add(new Span(sender.plan.rank(), Span.Lane.SEND, label, send.microBatch(), transfer.startNanos, now));
        spans.add(
                new Span(receiver.plan.rank(), Span.Lane.RECEIVE, label, send.microBatch(), transfer.startNanos, now));
        Buffer buffer = Buffer.of(send.value(), send.microBatch());
        sender.sendsUnderWay--;
        receiver.arrived.add(buffer);
        if (receiver.taken.contains(buffer)) {
            receiver.available.add(buffer);
        }
        receiver.lastArrivalStart = transfer.startNanos;
        receiver.lastArrival = now;
    }

    private ProgramCost.ProgramTime programTime(Task.Run run, WorkerPlan worker) {
        return timeByProgramAndMesh.computeIfAbsent(
                run.program() + "@" + worker.meshRanks().get(0),
                k -> cost.time(plan.programs().get(run.program()), worker.meshRanks()));
    }

    private final class Worker {
        private final WorkerPlan plan;
        private final Mesh mesh;
        private final WorkerLayout layout;
        private final long limitBytes;
        private final long[] liveBytesByTask;
        private final List<MemoryUse.Point> curve = new ArrayList<>();
        private final Set<Buffer> available = new HashSet<>();
        private final Map<ValueRef, Feed> feedByValue = new HashMap<>();
        /** Received values, and those of them that the compute lane has come to; both together are available. */
        private final Set<Buffer> arrived = new HashSet<>();

        private final Set<Buffer> taken = new HashSet<>();
        private final Deque<Task.Send> sends = new ArrayDeque<>();
        private final Deque<Task.Receive> receives = new ArrayDeque<>();
        private int sendsUnderWay;
        private int posted;
        private int postedAhead;
        private boolean sending;
        private boolean receiving;
        private int next;
        private boolean waits;
        /** Of what the compute lane does now, at the speed at which times were measured. */
        private double remainingNanos;

        private @Nullable Activity activity;
        private @Nullable Runnable atEnd;
        private double idleSince;
        private double lastArrivalStart;
        private double lastArrival;
        private double computeNanos;
        private double workNanos;
        private double collectiveNanos;
        private double pointToPointNanos;

        Worker(WorkerPlan plan, Mesh mesh, WorkerLayout layout, long limitBytes) {
            this.plan = plan;
            this.mesh = mesh;
            this.layout = layout;
            this.limitBytes = limitBytes;
            this.liveBytesByTask = layout.liveBytesByTask();
            for (Feed feed : plan.feeds()) {
                feedByValue.put(feed.value(), feed);
            }
            post();
        }

        MemoryUse memoryUse() {
            return new MemoryUse(plan.rank(), limitBytes, layout.totalBytes(), layout.bytesByKind(), curve);
        }

        private void post() {
            while (postedAhead < Lookahead.RECEIVES && posted < plan.tasks().size()) {
                if (plan.tasks().get(posted++) instanceof Task.Receive receive) {
                    receives.add(receive);
                    postedAhead++;
                }
            }
        }

        /** Memory in use from the task on that begins now. */
        private void noteMemory() {
            long bytes = liveBytesByTask[next];
            if (curve.isEmpty() || curve.get(curve.size() - 1).bytes() != bytes) {
                curve.add(new MemoryUse.Point(now, bytes));
            }
        }

        private boolean has(Buffer buffer) {
            return available.contains(buffer)
                    || feedByValue.containsKey(buffer.value())
                    || buffer.value().equals(ValueRef.MICRO_BATCH_INDEX);
        }

        /** Does what can be done now; returns whether that was anything. */
        boolean advance() {
            boolean moved = false;
            while (true) {
                if (atEnd != null) {
                    if (remainingNanos > 0) {
                        return moved;
                    }
                    Runnable end = atEnd;
                    atEnd = null;
                    finishActivity();
                    idleSince = now;
                    end.run();
                    moved = true;
                }
                if (next >= plan.tasks().size() || !start(plan.tasks().get(next))) {
                    return moved;
                }
                moved = true;
            }
        }

        private boolean start(Task task) {
            if (task instanceof Task.Run run) {
                return startRun(run);
            }
            if (task instanceof Task.Send send) {
                if (sendsUnderWay == Lookahead.SENDS || !has(Buffer.of(send.value(), send.microBatch()))) {
                    return false;
                }
                sendsUnderWay++;
                long nanos = cost.sendNanos(send.shape().sizeBytes());
                if (nanos > 0) {
                    begin("send " + send.value().name(), send.microBatch(), (double) nanos, 0, () -> sends.add(send));
                    return true;
                }
                sends.add(send);
            } else if (task instanceof Task.Receive receive) {
                Buffer buffer = Buffer.of(receive.value(), receive.microBatch());
                taken.add(buffer);
                if (arrived.contains(buffer)) {
                    available.add(buffer);
                }
                postedAhead--;
                post();
            } else if (task instanceof Task.Update update) {
                available.add(Buffer.of(update.state(), -1));
            } else if (task instanceof Task.Accumulate accumulate) {
                return combine(
                        Buffer.of(accumulate.from(), accumulate.microBatch()),
                        Buffer.of(accumulate.into(), -1),
                        -1,
                        "accumulate " + accumulate.into().name(),
                        accumulate.microBatch());
            } else if (task instanceof Task.Stack stack) {
                return combine(
                        Buffer.of(stack.from(), stack.microBatch()),
                        Buffer.of(stack.into(), -1),
                        stack.wholeShape().sizeBytes(),
                        "stack " + stack.into().name(),
                        stack.microBatch());
            }
            noteMemory();
            next++;
            return true;
        }

        /** Adds a term to an accumulator, or with {@code wholeBytes} of 0 or more puts a piece in its place. */
        private boolean combine(Buffer from, Buffer into, long wholeBytes, String label, int microBatch) {
            if (!has(from)) {
                return false;
            }
            boolean first = available.add(into);
            if (first && wholeBytes < 0) {
                noteMemory();
                next++;
                return true;
            }
            long bytes = partBytes(from);
            long passBytes = wholeBytes < 0 ? 3 * bytes : 2 * bytes;
            double nanos = cost.memoryNanos(plan.rank(), passBytes);
            begin(label, microBatch, nanos, 0, () -> {});
            return true;
        }

        private long partBytes(Buffer part) {
            return layout.region(part.value(), part.microBatch()).sizeBytes();
        }

        private boolean isReady(Task.Run run) {
            for (ValueRef input :
                    Simulator.this.plan.programs().get(run.program()).inputs()) {
                if (!has(Buffer.of(input, run.microBatch()))) {
                    return false;
                }
            }
            return true;
        }

        private boolean startRun(Task.Run run) {
            if (waits || !isReady(run)) {
                return false;
            }
            waits = true;
            mesh.waiting++;
            if (mesh.waiting < mesh.workers.size()) {
                return false;
            }
            mesh.waiting = 0;
            ProgramCost.ProgramTime time = programTime(run, plan);
            Program program = Simulator.this.plan.programs().get(run.program());
            for (Worker worker : mesh.workers) {
                Task other = worker.plan.tasks().get(worker.next);
                if (!other.equals(run)) {
                    throw new IllegalStateException("The task (" + other + ") of rank " + worker.plan.rank()
                            + " must be that of rank " + plan.rank() + " (" + run + ").");
                }
                worker.waits = false;
                worker.workNanos += time.collectiveWorkNanos();
                worker.begin(
                        program.name(),
                        run.microBatch(),
                        (double) time.computeNanos(),
                        (double) time.collectiveNanos(),
                        () -> worker.finish(run, program));
            }
            return true;
        }

        private void finish(Task.Run run, Program program) {
            for (ValueRef output : program.outputs()) {
                available.add(Buffer.of(output, run.microBatch()));
            }
        }

        private void begin(String label, int microBatch, double nanos, double waitNanos, Runnable end) {
            if (lastArrival > idleSince) {
                double from = Math.max(idleSince, lastArrivalStart);
                pointToPointNanos += Math.max(0, Math.min(lastArrival, now) - from);
            }
            remainingNanos = nanos + waitNanos;
            workNanos += nanos;
            activity = new Activity(label, microBatch, now, remainingNanos == 0 ? 1 : nanos / remainingNanos);
            atEnd = end;
            noteMemory();
            next++;
        }

        private void finishActivity() {
            Activity done = activity;
            activity = null;
            if (done != null && now > done.startNanos()) {
                computeNanos += (now - done.startNanos()) * done.computeShare();
                collectiveNanos += (now - done.startNanos()) * (1 - done.computeShare());
                spans.add(new Span(
                        plan.rank(), Span.Lane.COMPUTE, done.label(), done.microBatch(), done.startNanos(), now));
            }
        }

        double endsAt(double speed) {
            return remainingNanos > 0 ? now + remainingNanos / speed : Double.POSITIVE_INFINITY;
        }

        void work(double nanos, boolean ends) {
            remainingNanos = ends ? 0 : Math.max(0, remainingNanos - nanos);
        }

        DeviceTime time(double step) {
            return new DeviceTime(
                    plan.rank(),
                    computeNanos,
                    collectiveNanos,
                    pointToPointNanos,
                    step - computeNanos - collectiveNanos - pointToPointNanos,
                    measured.processorNanos(workNanos, devices));
        }
    }
}
