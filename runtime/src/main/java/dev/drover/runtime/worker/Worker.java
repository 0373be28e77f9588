package dev.drover.runtime.worker;

import dev.drover.ir.UserError;
import dev.drover.ir.type.ArrayShape;
import dev.drover.runtime.checkpoint.Checksum;
import dev.drover.runtime.comm.Communicators;
import dev.drover.runtime.comm.ConnectOptions;
import dev.drover.runtime.launch.ParentWatch;
import dev.drover.runtime.wire.Wire;
import dev.drover.runtime.wire.proto.ConnectReply;
import dev.drover.runtime.wire.proto.ConnectRequest;
import dev.drover.runtime.wire.proto.Endpoint;
import dev.drover.runtime.wire.proto.FetchRequest;
import dev.drover.runtime.wire.proto.LoadReply;
import dev.drover.runtime.wire.proto.LoadRequest;
import dev.drover.runtime.wire.proto.OpenRendezvousRequest;
import dev.drover.runtime.wire.proto.PutReply;
import dev.drover.runtime.wire.proto.PutRequest;
import dev.drover.runtime.wire.proto.RunRequest;
import dev.drover.runtime.wire.proto.SaveReply;
import dev.drover.runtime.wire.proto.SaveRequest;
import dev.drover.runtime.wire.proto.ShutdownReply;
import dev.drover.runtime.wire.proto.ShutdownRequest;
import dev.drover.runtime.wire.proto.StepMessage;
import dev.drover.runtime.wire.proto.StepMessages;
import dev.drover.runtime.wire.proto.TensorPiece;
import dev.drover.runtime.wire.proto.WorkerControlGrpc;
import dev.drover.safetensors.Safetensors;
import io.grpc.Server;
import io.grpc.Status;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.time.LocalTime;
import java.time.ZoneId;
import java.time.temporal.ChronoUnit;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A worker process: answers the coordinator's calls until told to stop or left alone.
 *
 * <p>One thread owns backend, communicators and workload, and does all the work; gRPC's threads only hand calls to it. Shutdown
 * alone is answered at once.
 */
public final class Worker {

    private static final long CLOSE_DEADLINE_SECONDS = 3;
    /** Short steps are reported together: a message takes the coordinator and the worker some tenths of a millisecond. */
    private static final long REPORT_NANOS = 200_000_000L;
    /** Steps are noted in the log as seldom as this; calls that come with each step or value not at all. */
    private static final long NOTE_NANOS = 10_000_000_000L;

    private static final Set<String> NOT_NOTED = Set.of("run", "put", "fetch");

    private final WorkerOptions options;
    private final ExecutorService work = Executors.newSingleThreadExecutor(task -> new Thread(task, "worker"));
    private final CountDownLatch shutdown = new CountDownLatch(1);
    private final ControlLink link;

    // Owned by the thread "worker"; volatile for currentTask.
    private @Nullable Backend backend;
    private @Nullable Communicators communicators;
    private volatile @Nullable Workload workload;
    private volatile String call = "";
    private long notedNanos = System.nanoTime() - NOTE_NANOS;

    private Worker(WorkerOptions options) {
        this.options = options;
        this.link = new ControlLink(options);
    }

    /**
     * Runs until shutdown and returns the exit code. The caller should {@link Runtime#halt} with it, since native threads may linger.
     *
     * @param backend called once, in the thread that will use the backend
     */
    public static int run(WorkerOptions options, Supplier<Backend> backend) {
        if (options.watchParent()) {
            ParentWatch.start();
        }
        Worker worker = new Worker(options);
        try {
            return worker.serve(backend);
        } catch (Exception e) {
            worker.log("worker", e);
            return 1;
        } finally {
            worker.link.close();
        }
    }

    private int serve(Supplier<Backend> makeBackend) throws Exception {
        work.submit(() -> backend = makeBackend.get()).get();
        ExecutorService answers = Executors.newCachedThreadPool(task -> new Thread(task, "grpc"));
        Server server = listen(answers);
        link.register(options.rank(), options.host(), server.getPort(), this::currentTask);
        note("ready");
        boolean told = waitForEnd();
        close();
        server.shutdown().awaitTermination(1, TimeUnit.SECONDS);
        return told ? 0 : ParentWatch.PARENT_GONE;
    }

    private Server listen(ExecutorService answers) throws IOException {
        return Wire.serve(options.host(), 0, options.token(), answers, new Service());
    }

    /** True when told to shut down, false when the coordinator is gone. */
    private boolean waitForEnd() throws InterruptedException {
        while (!shutdown.await(20, TimeUnit.MILLISECONDS)) {
            if (link.lost().getCount() == 0) {
                // The stream also ends, in an order of its own, when a shutdown is on its way.
                return shutdown.await(200, TimeUnit.MILLISECONDS);
            }
        }
        return true;
    }

    /** Frees what can be freed in time; a worker that hangs in a kernel or a collective is left to the exit of the process. */
    private void close() throws InterruptedException {
        Future<?> closing = work.submit(() -> {
            if (workload != null) {
                workload.close();
            }
            if (communicators != null) {
                communicators.close();
            }
            if (backend != null) {
                backend.close();
            }
        });
        try {
            closing.get(CLOSE_DEADLINE_SECONDS, TimeUnit.SECONDS);
        } catch (TimeoutException e) {
            System.err.println("The worker could not close in time; it was busy with: " + currentTask());
        } catch (ExecutionException e) {
            log("close", e);
        }
    }

    private String currentTask() {
        Workload current = workload;
        String task = current == null ? "" : current.currentTask();
        return task.isEmpty() ? call : task;
    }

    /** What this worker has done, in its log: what is left of it when it is killed. */
    private void note(String what) {
        System.err.println(LocalTime.now(ZoneId.systemDefault()).truncatedTo(ChronoUnit.MILLIS) + " rank "
                + options.rank() + " (process " + ProcessHandle.current().pid() + "): " + what);
    }

    private void noteSteps(long done) {
        long now = System.nanoTime();
        if (now - notedNanos >= NOTE_NANOS) {
            notedNanos = now;
            note(done == 1 ? "the first step is done" : done + " steps are done");
        }
    }

    /** To standard error, which is this worker's log file. */
    private void log(String task, Throwable problem) {
        StringWriter stack = new StringWriter();
        problem.printStackTrace(new PrintWriter(stack, true));
        System.err.println("rank " + options.rank() + " failed in " + task + ": " + stack);
    }

    private Backend backend() {
        if (backend == null) {
            throw new IllegalStateException("The backend must be made first.");
        }
        return backend;
    }

    private Workload workload() {
        Workload current = workload;
        if (current == null) {
            throw new IllegalStateException("A program must be loaded first.");
        }
        return current;
    }

    private interface Body<A> {
        void run(StreamObserver<A> out) throws Exception;
    }

    private final class Service extends WorkerControlGrpc.WorkerControlImplBase {

        private <A> void inOrder(String name, StreamObserver<A> out, Body<A> body) {
            work.execute(() -> {
                call = name;
                long startNanos = System.nanoTime();
                try {
                    body.run(out);
                    if (!NOT_NOTED.contains(name)) {
                        note(name + " took " + TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - startNanos) + " ms");
                    }
                    out.onCompleted();
                } catch (UserError e) {
                    out.onError(Status.INVALID_ARGUMENT
                            .withDescription(e.getMessage())
                            .asRuntimeException());
                } catch (Throwable e) {
                    // Everything, errors of linking and memory too, has to reach the coordinator.
                    log(currentTask(), e);
                    link.fail(currentTask(), e);
                    out.onError(Status.ABORTED
                            .withDescription(ControlLink.describe(e))
                            .asRuntimeException());
                } finally {
                    call = "";
                }
            });
        }

        @Override
        public void openRendezvous(OpenRendezvousRequest request, StreamObserver<Endpoint> out) {
            inOrder(
                    "open rendezvous",
                    out,
                    o -> o.onNext(Endpoint.newBuilder()
                            .setHost(request.getHost())
                            .setPort(backend().openRendezvous(request.getHost()))
                            .build()));
        }

        @Override
        public void connect(ConnectRequest request, StreamObserver<ConnectReply> out) {
            inOrder("connect", out, o -> {
                List<List<Integer>> groups = request.getGroupsList().stream()
                        .map(group -> List.copyOf(group.getRanksList()))
                        .toList();
                @Nullable Communicators connected = communicators;
                if (connected != null) {
                    connected.add(groups);
                    o.onNext(ConnectReply.getDefaultInstance());
                    return;
                }
                communicators = backend()
                        .connect(new ConnectOptions(
                                options.rank(),
                                request.getWorldSize(),
                                options.host(),
                                request.getRendezvous().getHost(),
                                request.getRendezvous().getPort(),
                                groups,
                                Duration.ofMillis(request.getTimeoutMillis())));
                o.onNext(ConnectReply.getDefaultInstance());
            });
        }

        @Override
        public void load(LoadRequest request, StreamObserver<LoadReply> out) {
            inOrder("load", out, o -> {
                if (workload != null) {
                    workload.close();
                    workload = null;
                }
                Workload loaded =
                        backend().load(request.getProgram().toByteArray(), request.getOptionsMap(), communicators);
                workload = loaded;
                o.onNext(LoadReply.newBuilder().putAllFacts(loaded.facts()).build());
            });
        }

        @Override
        public void run(RunRequest request, StreamObserver<StepMessages> out) {
            ServerCallStreamObserver<StepMessages> call = (ServerCallStreamObserver<StepMessages>) out;
            call.setOnCancelHandler(() -> {});
            inOrder("run", out, o -> {
                StepMessages.Builder ended = StepMessages.newBuilder();
                long sentNanos = System.nanoTime() - REPORT_NANOS;
                try {
                    for (int i = 0; i < request.getSteps() && !call.isCancelled(); i++) {
                        ended.addSteps(message(workload().run(request.getFirstStep() + i)));
                        noteSteps(request.getFirstStep() + i + 1);
                        if (System.nanoTime() - sentNanos >= REPORT_NANOS) {
                            o.onNext(ended.build());
                            ended.clear();
                            sentNanos = System.nanoTime();
                        }
                    }
                } finally {
                    if (ended.getStepsCount() > 0 && !call.isCancelled()) {
                        o.onNext(ended.build());
                    }
                }
            });
        }

        private static StepMessage message(StepReport report) {
            return StepMessage.newBuilder()
                    .setStep(report.step())
                    .setElapsedNanos(report.elapsedNanos())
                    .setProcessorNanos(report.processorNanos())
                    .setPeakBytes(report.peakBytes())
                    .putAllScalars(report.scalars())
                    .build();
        }

        @Override
        public void put(PutRequest request, StreamObserver<PutReply> out) {
            inOrder("put", out, o -> {
                request.getPiecesList().forEach(this::put);
                o.onNext(PutReply.getDefaultInstance());
            });
        }

        private void put(TensorPiece piece) {
            workload()
                    .put(
                            piece.getName(),
                            Wire.shape(piece),
                            piece.getOffset(),
                            piece.getData().asReadOnlyByteBuffer());
        }

        @Override
        public void fetch(FetchRequest request, StreamObserver<TensorPiece> out) {
            inOrder("fetch", out, o -> {
                String name = request.getName();
                ArrayShape shape = workload().shape(name);
                int size = (int) Math.min(request.getMaxBytes(), shape.sizeBytes() - request.getOffset());
                o.onNext(Wire.piece(
                        name, shape, request.getOffset(), workload().fetch(name, request.getOffset(), size)));
            });
        }

        @Override
        public void save(SaveRequest request, StreamObserver<SaveReply> out) {
            inOrder("save", out, o -> {
                Map<String, ArrayShape> shapes = new LinkedHashMap<>();
                request.getNamesList()
                        .forEach(name -> shapes.put(name, workload().shape(name)));
                Map<String, Checksum> checksums = new LinkedHashMap<>();
                shapes.keySet().forEach(name -> checksums.put(name, new Checksum()));
                Safetensors.write(Path.of(request.getFile()), shapes, Map.of(), (name, offset, size) -> {
                    ByteBuffer bytes = workload().fetch(name, offset, size);
                    Objects.requireNonNull(checksums.get(name)).add(bytes);
                    return bytes;
                });
                SaveReply.Builder reply = SaveReply.newBuilder();
                checksums.forEach((name, sum) -> reply.putChecksums(name, sum.text()));
                o.onNext(reply.build());
            });
        }

        @Override
        public void shutdown(ShutdownRequest request, StreamObserver<ShutdownReply> out) {
            out.onNext(ShutdownReply.getDefaultInstance());
            out.onCompleted();
            shutdown.countDown();
        }
    }
}
