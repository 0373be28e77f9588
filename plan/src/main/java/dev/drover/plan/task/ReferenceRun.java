package dev.drover.plan.task;

import dev.drover.ir.eval.Evaluator;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.ops.Reduction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Runs an execution plan with the reference evaluator in this process, one thread per worker: the oracle for "the parallel step
 * equals the whole one". Values move through queues; collectives through an exchange per mesh.
 */
public final class ReferenceRun {
    private static final long WAIT_SECONDS = 300;

    private final ExecutionPlan plan;
    private final Map<String, BlockingQueue<Parcel>> links = new ConcurrentHashMap<>();
    private final Map<Integer, Exchange> exchangeByStage = new ConcurrentHashMap<>();
    private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();

    private record Parcel(ValueRef value, int microBatch, Literal literal) {}

    private ReferenceRun(ExecutionPlan plan) {
        this.plan = plan;
    }

    /**
     * One step.
     *
     * @param inputs of the training step, whole
     * @param outputShapes of the training step
     * @return the outputs, put together from the pieces that workers hold
     */
    public static List<Literal> run(ExecutionPlan plan, List<Literal> inputs, List<ArrayShape> outputShapes) {
        return new ReferenceRun(plan).run(inputs, outputShapes);
    }

    private List<Literal> run(List<Literal> inputs, List<ArrayShape> outputShapes) {
        List<Literal> outputs = new ArrayList<>();
        for (ArrayShape shape : outputShapes) {
            outputs.add(Literal.zeros(shape));
        }
        Set<Integer> fetched = new HashSet<>();
        List<Worker> workers = new ArrayList<>();
        List<Thread> threads = new ArrayList<>();
        for (WorkerPlan workerPlan : plan.workers()) {
            Worker worker = new Worker(workerPlan, inputs);
            workers.add(worker);
            Thread thread = new Thread(worker, "rank " + workerPlan.rank());
            thread.setDaemon(true);
            threads.add(thread);
            thread.start();
        }
        try {
            for (Thread thread : threads) {
                thread.join();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("The run must not be interrupted.", e);
        }
        Throwable failed = failure.get();
        if (failed != null) {
            throw new IllegalStateException(failed.getMessage(), failed);
        }
        for (Worker worker : workers) {
            for (Fetch fetch : worker.plan.fetches()) {
                fetch.slice().insert(worker.read(fetch.value(), -1), outputs.get(fetch.output()));
                fetched.add(fetch.output());
            }
        }
        if (fetched.size() != outputs.size()) {
            throw new IllegalStateException(
                    "The outputs (" + fetched + ") that workers hold must be all " + outputs.size() + ".");
        }
        return outputs;
    }

    private BlockingQueue<Parcel> link(int from, int to) {
        return links.computeIfAbsent(from + ">" + to, k -> new LinkedBlockingQueue<>());
    }

    /** What the devices of one mesh give each other, call by call. */
    private final class Exchange {
        private final int devices;
        private List<@Nullable List<Value>> given;
        private List<List<Value>> complete = List.of();
        private int arrived;
        private long round;

        Exchange(int devices) {
            this.devices = devices;
            this.given = empty(devices);
        }

        private static List<@Nullable List<Value>> empty(int n) {
            List<@Nullable List<Value>> list = new ArrayList<>();
            for (int i = 0; i < n; i++) {
                list.add(null);
            }
            return list;
        }

        synchronized List<List<Value>> exchange(int device, List<Value> mine) {
            long myRound = round;
            given.set(device, mine);
            if (++arrived == devices) {
                List<List<Value>> all = new ArrayList<>();
                for (List<Value> one : given) {
                    if (one != null) {
                        all.add(one);
                    }
                }
                complete = all;
                given = empty(devices);
                arrived = 0;
                round++;
                notifyAll();
                return complete;
            }
            long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(WAIT_SECONDS);
            while (round == myRound) {
                if (failure.get() != null || System.nanoTime() > deadline) {
                    throw new IllegalStateException("Device " + device + " must not wait for a collective in vain.");
                }
                try {
                    wait(50);
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                    throw new IllegalStateException("The run must not be interrupted.", e);
                }
            }
            return complete;
        }
    }

    private record OnMesh(int device, int devices, Exchange exchange) implements Evaluator.Devices {
        @Override
        public List<List<Value>> exchange(List<Value> mine) {
            return exchange.exchange(device, mine);
        }
    }

    /** Owns its buffers. */
    private final class Worker implements Runnable {
        private final WorkerPlan plan;
        private final List<Literal> inputs;
        private final Map<BufferLife.Buffer, Literal> literals = new HashMap<>();
        private final Map<ValueRef, Feed> feeds = new HashMap<>();
        private final OnMesh devices;

        Worker(WorkerPlan plan, List<Literal> inputs) {
            this.plan = plan;
            this.inputs = inputs;
            int mesh = plan.meshRanks().size();
            this.devices = new OnMesh(
                    plan.device(), mesh, exchangeByStage.computeIfAbsent(plan.stage(), s -> new Exchange(mesh)));
            for (Feed feed : plan.feeds()) {
                feeds.put(feed.value(), feed);
            }
        }

        @Override
        public void run() {
            int at = 0;
            try {
                for (; at < plan.tasks().size(); at++) {
                    perform(plan.tasks().get(at));
                }
            } catch (RuntimeException | StackOverflowError | OutOfMemoryError e) {
                failure.compareAndSet(
                        null,
                        new IllegalStateException(
                                "Rank " + plan.rank() + ", task " + at + " ("
                                        + plan.tasks().get(at) + "): " + e.getMessage(),
                                e));
            }
        }

        Literal read(ValueRef value, int microBatch) {
            BufferLife.Buffer buffer = BufferLife.Buffer.of(value, microBatch);
            Literal literal = literals.get(buffer);
            Feed feed = feeds.get(value);
            if (literal == null && feed != null) {
                TensorSlice slice = feed.slice();
                TensorSlice.Cut cut = feed.microBatchCut();
                if (cut != null) {
                    slice = slice.with(new TensorSlice.Cut(cut.dim(), cut.stride(), cut.parts(), microBatch));
                }
                literal = slice.extract(inputs.get(feed.input()));
                literals.put(buffer, literal);
            }
            if (literal == null) {
                throw new IllegalStateException("The value (" + buffer + ") must be there.");
            }
            return literal;
        }

        private void perform(Task task) {
            if (task instanceof Task.Run run) {
                runProgram(run);
            } else if (task instanceof Task.Send send) {
                Literal literal = read(send.value(), send.microBatch());
                link(plan.rank(), send.toRank()).add(new Parcel(send.value(), send.microBatch(), literal));
            } else if (task instanceof Task.Receive receive) {
                receive(receive);
            } else if (task instanceof Task.Accumulate accumulate) {
                Literal term = read(accumulate.from(), accumulate.microBatch());
                literals.remove(BufferLife.Buffer.of(accumulate.from(), accumulate.microBatch()));
                literals.merge(
                        BufferLife.Buffer.of(accumulate.into(), -1),
                        term,
                        (sum, more) -> combined(accumulate.reduction(), sum, more));
            } else if (task instanceof Task.Stack stack) {
                Literal piece = read(stack.from(), stack.microBatch());
                literals.remove(BufferLife.Buffer.of(stack.from(), stack.microBatch()));
                Literal whole = literals.computeIfAbsent(
                        BufferLife.Buffer.of(stack.into(), -1), b -> Literal.zeros(stack.wholeShape()));
                new TensorSlice(stack.wholeShape(), List.of())
                        .with(new TensorSlice.Cut(stack.dim(), stack.stride(), stack.parts(), stack.microBatch()))
                        .insert(piece, whole);
            } else if (task instanceof Task.Free free) {
                literals.remove(BufferLife.Buffer.of(free.value(), free.microBatch()));
            } else if (task instanceof Task.Update update) {
                Literal literal = read(update.from(), -1);
                literals.remove(BufferLife.Buffer.of(update.from(), -1));
                literals.put(BufferLife.Buffer.of(update.state(), -1), literal);
            }
        }

        private void runProgram(Task.Run run) {
            Program program = ReferenceRun.this.plan.programs().get(run.program());
            List<Value> arguments = new ArrayList<>();
            for (ValueRef input : program.inputs()) {
                arguments.add(
                        input.equals(ValueRef.MICRO_BATCH_INDEX)
                                ? Literal.scalar(DType.S32, run.microBatch())
                                : read(input, run.microBatch()));
            }
            Value result = Evaluator.run(program.computation(), arguments, devices);
            List<Value> elements = ((Value.Tuple) result).elements();
            for (int i = 0; i < elements.size(); i++) {
                literals.put(
                        BufferLife.Buffer.of(program.outputs().get(i), run.microBatch()),
                        elements.get(i).literal());
            }
        }

        private void receive(Task.Receive receive) {
            long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(WAIT_SECONDS);
            BlockingQueue<Parcel> queue = link(receive.fromRank(), plan.rank());
            try {
                Parcel parcel = null;
                while (parcel == null) {
                    if (failure.get() != null || System.nanoTime() > deadline) {
                        throw new IllegalStateException("A value must come from rank " + receive.fromRank() + ".");
                    }
                    parcel = queue.poll(50, TimeUnit.MILLISECONDS);
                }
                if (!parcel.value().equals(receive.value()) || parcel.microBatch() != receive.microBatch()) {
                    throw new IllegalStateException("The value that comes (" + parcel.value() + ", micro-batch "
                            + parcel.microBatch() + ") must be the one that is awaited.");
                }
                literals.put(BufferLife.Buffer.of(receive.value(), receive.microBatch()), parcel.literal());
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException("The run must not be interrupted.", e);
            }
        }
    }

    /** Element by element, rounded to the type. */
    private static Literal combined(Reduction reduction, Literal a, Literal b) {
        DType dtype = a.dtype();
        if (dtype.isFloat() || dtype.isComplex()) {
            double[] out = new double[a.doubles().length];
            for (int i = 0; i < out.length; i++) {
                double x = a.doubles()[i];
                double y = b.doubles()[i];
                out[i] = switch (reduction) {
                    case SUM -> x + y;
                    case PROD -> x * y;
                    case MIN -> Math.min(x, y);
                    case MAX -> Math.max(x, y);
                    case AND, OR -> throw new IllegalArgumentException("Floats must not be combined by " + reduction);
                };
            }
            return Literal.ofDoubles(a.shape(), out);
        }
        long[] out = new long[a.longs().length];
        boolean unsigned = dtype.family() == DType.Family.UNSIGNED;
        for (int i = 0; i < out.length; i++) {
            long x = a.longs()[i];
            long y = b.longs()[i];
            int order = unsigned ? Long.compareUnsigned(x, y) : Long.compare(x, y);
            out[i] = switch (reduction) {
                case SUM -> dtype == DType.PRED ? x | y : x + y;
                case PROD -> x * y;
                case MIN -> order <= 0 ? x : y;
                case MAX -> order >= 0 ? x : y;
                case AND -> x & y;
                case OR -> x | y;
            };
        }
        return Literal.ofLongs(a.shape(), out);
    }
}
