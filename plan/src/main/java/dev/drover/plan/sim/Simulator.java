package dev.drover.plan.sim;

import dev.drover.ir.graph.Instruction;
import dev.drover.plan.cluster.Cluster;
import dev.drover.plan.task.ExecutionPlan;
import dev.drover.plan.task.Feed;
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
 * a send or receive goes to its lane once all before it in the list have ended, and the list goes on. A transfer runs when it is the
 * next of both lanes. The devices of a mesh run a program in step. Worker r is device r of the cluster.
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
    private final Network network;
    private final List<Span> spans = new ArrayList<>();
    private final Map<String, ProgramCost.ProgramTime> timeByProgramAndMesh = new HashMap<>();
    private final Map<Integer, Liveness> livenessByProgram = new HashMap<>();
    private final Map<Integer, Map<ValueRef, Long>> bytesByProgram = new HashMap<>();
    private double now;

    /** A value of one micro-batch, or of the step (-1). */
    private record Buffer(ValueRef value, int microBatch) {
        static Buffer of(ValueRef value, int microBatch) {
            return new Buffer(value, value.perMicroBatch() ? microBatch : -1);
        }
    }

    private Simulator(ExecutionPlan plan, Cluster cluster, ProgramCost cost) {
        if (plan.workers().size() > cluster.devices()) {
            throw new IllegalArgumentException(
                    "The workers (" + plan.workers().size() + ") of a plan must be at most the " + cluster.devices()
                            + " devices of cluster (" + cluster.name() + ").");
        }
        this.plan = plan;
        this.cost = cost;
        this.network = new Network(cluster);
        for (WorkerPlan worker : plan.workers()) {
            workers.add(new Worker(worker, cluster.deviceType(worker.rank()).memoryBytes()));
        }
    }

    /** One step. */
    public static SimulatedStep simulate(ExecutionPlan plan, Cluster cluster, ProgramCost cost) {
        return new Simulator(plan, cluster, cost).run();
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
            double next = network.nextNanos();
            for (Worker worker : workers) {
                if (worker.busyUntil > now) {
                    next = Math.min(next, worker.busyUntil);
                }
            }
            if (Double.isInfinite(next)) {
                break;
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
            memory.add(worker.memory.use());
            stages.add(worker.plan.stage());
        }
        spans.sort(
                Comparator.comparing(Span::startNanos).thenComparing(Span::rank).thenComparing(Span::lane));
        return new SimulatedStep(now, devices, memory, spans, stages);
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
        sender.sent(buffer);
        receiver.available.add(buffer);
        receiver.lastArrivalStart = transfer.startNanos;
        receiver.lastArrival = now;
    }

    private ProgramCost.ProgramTime programTime(Task.Run run, WorkerPlan worker) {
        return timeByProgramAndMesh.computeIfAbsent(
                run.program() + "@" + worker.meshRanks().get(0),
                k -> cost.time(plan.programs().get(run.program()), worker.meshRanks()));
    }

    private long outputBytes(Task.Run run, ValueRef value) {
        return bytesByProgram
                .computeIfAbsent(run.program(), p -> {
                    Program program = plan.programs().get(p);
                    Map<ValueRef, Long> bytes = new HashMap<>();
                    List<Instruction> results = program.computation().root().operands();
                    for (int i = 0; i < results.size(); i++) {
                        bytes.put(
                                program.outputs().get(i), results.get(i).shape().sizeBytes());
                    }
                    return bytes;
                })
                .getOrDefault(value, 0L);
    }

    private final class Worker {
        private final WorkerPlan plan;
        private final ValueKinds kinds;
        private final MemoryCurve memory;
        private final Set<Buffer> available = new HashSet<>();
        private final Map<Buffer, Long> bytesByBuffer = new HashMap<>();
        private final Map<ValueRef, Feed> feedByValue = new HashMap<>();
        private final Map<Buffer, Integer> pendingSends = new HashMap<>();
        private final Set<Buffer> freeWhenSent = new HashSet<>();
        private final Deque<Task.Send> sends = new ArrayDeque<>();
        private final Deque<Task.Receive> receives = new ArrayDeque<>();
        private boolean sending;
        private boolean receiving;
        private int next;
        private double busyUntil;
        private @Nullable Runnable atEnd;
        private double idleSince;
        private double lastArrivalStart;
        private double lastArrival;
        private double computeNanos;
        private double collectiveNanos;
        private double pointToPointNanos;

        Worker(WorkerPlan plan, long memoryBytes) {
            this.plan = plan;
            this.kinds = new ValueKinds(Simulator.this.plan, plan);
            this.memory = new MemoryCurve(plan.rank(), memoryBytes);
            for (Feed feed : plan.feeds()) {
                feedByValue.put(feed.value(), feed);
                if (!feed.value().perMicroBatch()) {
                    hold(Buffer.of(feed.value(), -1), feed.slice().local().sizeBytes());
                }
            }
        }

        private void hold(Buffer buffer, long bytes) {
            bytesByBuffer.put(buffer, bytes);
            memory.change(now, kinds.of(buffer.value()), bytes);
        }

        private void drop(Buffer buffer) {
            Long bytes = bytesByBuffer.remove(buffer);
            if (bytes != null) {
                memory.change(now, kinds.of(buffer.value()), -bytes);
            }
        }

        private boolean has(Buffer buffer) {
            return available.contains(buffer)
                    || feedByValue.containsKey(buffer.value())
                    || buffer.value().equals(ValueRef.MICRO_BATCH_INDEX);
        }

        /** Input data comes into memory when it is first used. */
        private void touch(Buffer buffer) {
            Feed feed = feedByValue.get(buffer.value());
            if (feed != null && feed.microBatchCut() != null && !bytesByBuffer.containsKey(buffer)) {
                hold(
                        buffer,
                        feed.slice().local().sizeBytes() / feed.microBatchCut().parts());
            }
        }

        private void sent(Buffer buffer) {
            if (pendingSends.merge(buffer, -1, Integer::sum) == 0) {
                pendingSends.remove(buffer);
                if (freeWhenSent.remove(buffer)) {
                    drop(buffer);
                }
            }
        }

        /** Does what can be done now; returns whether that was anything. */
        boolean advance() {
            boolean moved = false;
            while (true) {
                if (atEnd != null) {
                    if (busyUntil > now) {
                        return moved;
                    }
                    Runnable end = atEnd;
                    atEnd = null;
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
                sends.add(send);
                pendingSends.merge(Buffer.of(send.value(), send.microBatch()), 1, Integer::sum);
                touch(Buffer.of(send.value(), send.microBatch()));
            } else if (task instanceof Task.Receive receive) {
                receives.add(receive);
                hold(
                        Buffer.of(receive.value(), receive.microBatch()),
                        receive.shape().sizeBytes());
            } else if (task instanceof Task.Free free) {
                Buffer buffer = Buffer.of(free.value(), free.microBatch());
                if (pendingSends.containsKey(buffer)) {
                    freeWhenSent.add(buffer);
                } else {
                    drop(buffer);
                }
            } else if (task instanceof Task.Update update) {
                drop(Buffer.of(update.state(), -1));
                rename(Buffer.of(update.from(), -1), Buffer.of(update.state(), -1));
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
            next++;
            return true;
        }

        private void rename(Buffer from, Buffer to) {
            Long bytes = bytesByBuffer.remove(from);
            if (bytes != null) {
                memory.change(now, kinds.of(from.value()), -bytes);
                hold(to, bytes);
            }
            available.add(to);
        }

        /** Adds a term to an accumulator, or with {@code wholeBytes} of 0 or more puts a piece in its place. */
        private boolean combine(Buffer from, Buffer into, long wholeBytes, String label, int microBatch) {
            if (!has(from)) {
                return false;
            }
            touch(from);
            boolean first = !available.contains(into);
            long bytes = bytesByBuffer.getOrDefault(from, 0L);
            if (first && wholeBytes < 0) {
                rename(from, into);
                next++;
                return true;
            }
            if (first) {
                hold(into, wholeBytes);
                available.add(into);
            }
            long passBytes = wholeBytes < 0 ? 3 * bytes : 2 * bytes;
            double nanos = cost.memoryNanos(plan.rank(), passBytes);
            begin(label, microBatch, nanos, 0, () -> drop(from));
            return true;
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
            List<Worker> mesh = new ArrayList<>();
            for (int rank : plan.meshRanks()) {
                Worker other = workers.get(rank);
                mesh.add(other);
                if (other.atEnd != null && other != this && other.busyUntil <= now) {
                    other.advance();
                }
                if (other.atEnd != null
                        || other.next >= other.plan.tasks().size()
                        || !other.plan.tasks().get(other.next).equals(run)
                        || !other.isReady(run)) {
                    return false;
                }
            }
            ProgramCost.ProgramTime time = programTime(run, plan);
            Program program = Simulator.this.plan.programs().get(run.program());
            Liveness liveness =
                    livenessByProgram.computeIfAbsent(run.program(), p -> Liveness.of(program.computation()));
            for (Worker worker : mesh) {
                worker.begin(
                        program.name(),
                        run.microBatch(),
                        (double) time.computeNanos(),
                        (double) time.collectiveNanos(),
                        () -> worker.finish(run, program, liveness));
                for (ValueRef input : program.inputs()) {
                    worker.touch(Buffer.of(input, run.microBatch()));
                }
                worker.memory.change(now, MemoryKind.TEMPORARIES, liveness.peakBytes());
            }
            return true;
        }

        private void finish(Task.Run run, Program program, Liveness liveness) {
            memory.change(now, MemoryKind.TEMPORARIES, -liveness.peakBytes());
            for (ValueRef output : program.outputs()) {
                Buffer buffer = Buffer.of(output, run.microBatch());
                available.add(buffer);
                hold(buffer, outputBytes(run, output));
            }
        }

        private void begin(String label, int microBatch, double nanos, double waitNanos, Runnable end) {
            if (lastArrival > idleSince) {
                double from = Math.max(idleSince, lastArrivalStart);
                pointToPointNanos += Math.max(0, Math.min(lastArrival, now) - from);
            }
            computeNanos += nanos;
            collectiveNanos += waitNanos;
            busyUntil = now + nanos + waitNanos;
            atEnd = end;
            next++;
            if (busyUntil > now) {
                spans.add(new Span(plan.rank(), Span.Lane.COMPUTE, label, microBatch, now, busyUntil));
            }
        }

        DeviceTime time(double step) {
            return new DeviceTime(
                    plan.rank(),
                    computeNanos,
                    collectiveNanos,
                    pointToPointNanos,
                    step - computeNanos - collectiveNanos - pointToPointNanos);
        }
    }
}
