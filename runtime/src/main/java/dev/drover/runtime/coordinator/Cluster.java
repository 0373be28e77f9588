package dev.drover.runtime.coordinator;

import com.google.common.util.concurrent.FutureCallback;
import com.google.common.util.concurrent.Futures;
import com.google.common.util.concurrent.ListenableFuture;
import com.google.protobuf.ByteString;
import com.google.protobuf.UnsafeByteOperations;
import dev.drover.ir.UserError;
import dev.drover.ir.type.ArrayShape;
import dev.drover.runtime.WorkerFailure;
import dev.drover.runtime.launch.Launcher;
import dev.drover.runtime.launch.ProcessEnd;
import dev.drover.runtime.launch.WorkerCommand;
import dev.drover.runtime.launch.WorkerProcess;
import dev.drover.runtime.wire.HostTensor;
import dev.drover.runtime.wire.TensorBytes;
import dev.drover.runtime.wire.Token;
import dev.drover.runtime.wire.Wire;
import dev.drover.runtime.wire.proto.ConnectRequest;
import dev.drover.runtime.wire.proto.Endpoint;
import dev.drover.runtime.wire.proto.FetchRequest;
import dev.drover.runtime.wire.proto.Group;
import dev.drover.runtime.wire.proto.LoadReply;
import dev.drover.runtime.wire.proto.LoadRequest;
import dev.drover.runtime.wire.proto.OpenRendezvousRequest;
import dev.drover.runtime.wire.proto.PutReply;
import dev.drover.runtime.wire.proto.PutRequest;
import dev.drover.runtime.wire.proto.Registration;
import dev.drover.runtime.wire.proto.SaveReply;
import dev.drover.runtime.wire.proto.SaveRequest;
import dev.drover.runtime.wire.proto.ShutdownRequest;
import dev.drover.runtime.wire.proto.TensorPiece;
import dev.drover.runtime.wire.proto.WorkerControlGrpc;
import dev.drover.runtime.wire.proto.WorkerControlGrpc.WorkerControlFutureStub;
import dev.drover.runtime.worker.StepReport;
import dev.drover.runtime.worker.WorkerOptions;
import io.grpc.ManagedChannel;
import io.grpc.Server;
import io.grpc.Status;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/**
 * The coordinator: a set of workers under one roof. Used from one thread; every call has a deadline.
 *
 * <p>Order of use: {@link #start}, {@link #connect} (where there is more than one worker), {@link #load}, then any mix of {@link #putAll},
 * {@link #run} and {@link #fetch}, {@link #close}. After a {@link WorkerFailure} only close makes sense.
 */
public final class Cluster implements AutoCloseable {

    private static final long POLL_MILLIS = 20;
    /** 10 MB/s: what values take to be sent at the most, beyond the deadline of a call. */
    private static final long SLOWEST_BYTES_PER_MILLI = 10_000;

    private final ClusterOptions options;
    private final Launcher launcher;
    private final String token = Token.random();
    private final List<@Nullable WorkerProcess> processes = new ArrayList<>();
    private final List<ManagedChannel> channels = new ArrayList<>();
    private final List<Registration> workers = new ArrayList<>();
    private final FailureBoard board;
    private final Registry registry;
    private final ExecutorService answers = Executors.newCachedThreadPool(Cluster::daemon);
    private final ScheduledExecutorService liveness = Executors.newSingleThreadScheduledExecutor(Cluster::daemon);
    private final Server server;
    private final Set<List<Integer>> connected = new HashSet<>();
    private @Nullable Endpoint rendezvous;
    private boolean closed;

    private Cluster(ClusterOptions options, Launcher launcher, int size) {
        this.options = options;
        this.launcher = launcher;
        for (int rank = 0; rank < size; rank++) {
            processes.add(null);
        }
        this.board = new FailureBoard(size, processes::get);
        this.registry = new Registry(size, board);
        this.server = listen();
    }

    private static Thread daemon(Runnable task) {
        Thread thread = new Thread(task, "coordinator");
        thread.setDaemon(true);
        return thread;
    }

    /**
     * Starts workers and returns when all have registered.
     *
     * @param launcher closed together with the cluster, also when the start fails
     * @throws UserError when the port is in use
     * @throws WorkerFailure when a worker does not come up
     */
    public static Cluster start(ClusterOptions options, Launcher launcher, int size) {
        @Nullable Cluster cluster = null;
        try {
            cluster = new Cluster(options, launcher, size);
            cluster.launchAll(size);
            return cluster;
        } catch (RuntimeException | Error e) {
            if (cluster == null) {
                launcher.close();
            } else {
                cluster.close();
            }
            throw e;
        }
    }

    private Server listen() {
        try {
            return Wire.serve(launcher.coordinatorHost(), options.port(), token, answers, registry);
        } catch (IOException e) {
            throw taken(launcher.coordinatorHost(), options.port());
        }
    }

    /** Keeps a port from others until the socket is closed. Fails with {@link UserError} if a coordinator could not listen there. */
    public static ServerSocket hold(String host, int port) {
        ServerSocket socket;
        try {
            socket = new ServerSocket();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        try {
            socket.bind(new InetSocketAddress(host, port));
            return socket;
        } catch (IOException e) {
            try (socket) {
                throw taken(host, port);
            } catch (IOException unclosed) {
                throw taken(host, port);
            }
        }
    }

    private static UserError taken(String host, int port) {
        return new UserError(
                "The port (" + port + ") of the coordinator (" + host + ") must be free.",
                "Maybe choose another one, or leave the choice to Drover with --port 0.");
    }

    private void launchAll(int size) {
        for (int rank = 0; rank < size; rank++) {
            launchOne(rank);
        }
        long deadlineNanos = deadline(options.startDeadline());
        for (int rank = 0; rank < size; rank++) {
            Registration worker = await(registry.registration(rank), deadlineNanos, rank, "start");
            workers.add(worker);
            channels.add(Wire.connect(
                    worker.getControl().getHost(), worker.getControl().getPort(), token));
        }
        long maxSilenceNanos = options.livenessDeadline().toNanos();
        ScheduledFuture<?> unused = liveness.scheduleAtFixedRate(
                () -> registry.checkLiveness(maxSilenceNanos), 100, 100, TimeUnit.MILLISECONDS);
    }

    private void launchOne(int rank) {
        WorkerOptions worker = new WorkerOptions(
                rank, launcher.coordinatorHost(), launcher.coordinatorHost(), server.getPort(), true, token);
        WorkerProcess process = launcher.launch(
                new WorkerCommand(rank, options.workerMain(), worker.arguments(), worker.environment()));
        processes.set(rank, process);
        CompletableFuture<?> unused =
                process.exit().thenAccept(code -> board.postEnd(rank, registry.task(rank), new ProcessEnd(code)));
    }

    public int size() {
        return workers.size();
    }

    /** Process id of a worker, for logs and tests. */
    public long pid(int rank) {
        return workers.get(rank).getPid();
    }

    /**
     * Makes all communicators: the world and these groups. May be called again for another program; what exists is kept.
     *
     * @param groups ordered lists of global ranks
     * @param timeout how long a collective or transfer may wait for its peers; that of the first call counts
     */
    public void connect(List<List<Integer>> groups, Duration timeout) {
        if (rendezvous != null && connected.containsAll(groups)) {
            return;
        }
        Endpoint meeting = rendezvous == null ? openRendezvous() : rendezvous;
        rendezvous = meeting;
        ConnectRequest.Builder request = ConnectRequest.newBuilder()
                .setRendezvous(meeting)
                .setWorldSize(size())
                .setTimeoutMillis(timeout.toMillis());
        groups.forEach(ranks -> request.addGroups(Group.newBuilder().addAllRanks(ranks)));
        all("connect", options.stepDeadline(), rank -> stub -> stub.connect(request.build()));
        connected.addAll(groups);
    }

    private Endpoint openRendezvous() {
        String host = workers.get(0).getControl().getHost();
        return one(
                0,
                "open rendezvous",
                options.callDeadline(),
                stub -> stub.openRendezvous(
                        OpenRendezvousRequest.newBuilder().setHost(host).build()));
    }

    /**
     * Loads a program on each worker.
     *
     * @return what each worker tells about its program, by rank
     */
    public List<Map<String, String>> load(IntFunction<byte[]> programByRank, Map<String, String> loadOptions) {
        List<LoadReply> replies = all("load", options.callDeadline(), rank -> {
            ByteString program = UnsafeByteOperations.unsafeWrap(programByRank.apply(rank));
            return stub -> stub.load(LoadRequest.newBuilder()
                    .setProgram(program)
                    .putAllOptions(loadOptions)
                    .build());
        });
        return replies.stream().map(LoadReply::getFactsMap).toList();
    }

    /**
     * Runs steps on all workers.
     *
     * @param perStep called in the calling thread after each step with the reports of all workers, by rank
     */
    public void run(long firstStep, int steps, Consumer<List<StepReport>> perStep) {
        try (StepCollector collector = new StepCollector(board, channels, options.stepDeadline())) {
            collector.start(firstStep, steps);
            for (int i = 0; i < steps; i++) {
                perStep.accept(collector.next(firstStep + i));
            }
        }
    }

    /** A value for a worker. */
    public record Put(int rank, String name, ArrayShape shape, TensorBytes value) {
        public static Put of(int rank, String name, HostTensor value) {
            return new Put(rank, name, value.shape(), TensorBytes.of(value));
        }
    }

    /** Sends values in pieces; those for different workers at the same time, those for one in order. */
    public void putAll(List<Put> puts) {
        Map<Integer, List<Put>> putsByRank = new TreeMap<>();
        long bytes = 0;
        for (Put put : puts) {
            putsByRank.computeIfAbsent(put.rank(), rank -> new ArrayList<>()).add(put);
            bytes += put.shape().sizeBytes();
        }
        long deadlineNanos = deadline(options.callDeadline().plusMillis(bytes / SLOWEST_BYTES_PER_MILLI));
        // Calls that are under way at once may overtake each other, so each waits for the one before.
        Map<Integer, CompletableFuture<PutReply>> lastByRank = new TreeMap<>();
        putsByRank.forEach((rank, mine) -> lastByRank.put(
                rank, send(rank, new PutRequests(mine, options.pieceBytes()), PutReply.getDefaultInstance())));
        lastByRank.forEach((rank, last) -> {
            PutReply unused = await(last, deadlineNanos, rank, "put");
        });
    }

    private CompletableFuture<PutReply> send(int rank, PutRequests requests, PutReply last) {
        if (!requests.hasNext()) {
            return CompletableFuture.completedFuture(last);
        }
        PutRequest request = requests.next();
        return invoke(rank, options.callDeadline(), stub -> stub.put(request))
                .thenCompose(reply -> send(rank, requests, reply));
    }

    /** Copies a value from a worker, piece by piece. */
    public void fetch(int rank, String name, TensorBytes.Sink into) {
        long offset = 0;
        while (true) {
            FetchRequest request = FetchRequest.newBuilder()
                    .setName(name)
                    .setOffset(offset)
                    .setMaxBytes(options.pieceBytes())
                    .build();
            TensorPiece piece = one(rank, "fetch " + name, options.callDeadline(), stub -> stub.fetch(request));
            into.accept(Wire.shape(piece), offset, piece.getData().asReadOnlyByteBuffer());
            offset += piece.getData().size();
            if (offset >= piece.getSizeBytes()) {
                return;
            }
        }
    }

    /**
     * Lets workers write values to files of their own, all at the same time; returns or fails when none writes any more.
     *
     * @return by rank the checksums of its values by name
     */
    Map<Integer, Map<String, String>> save(Map<Integer, List<String>> namesByRank, IntFunction<Path> fileByRank) {
        // What is written to a slow disk takes its time.
        Duration allowed = options.callDeadline().multipliedBy(4);
        long deadlineNanos = deadline(allowed);
        Map<Integer, CompletableFuture<SaveReply>> pending = new TreeMap<>();
        namesByRank.forEach((rank, names) -> {
            SaveRequest request = SaveRequest.newBuilder()
                    .setFile(fileByRank.apply(rank).toString())
                    .addAllNames(names)
                    .build();
            pending.put(rank, invoke(rank, allowed, stub -> stub.save(request)));
        });
        List<UserError> refused = new ArrayList<>();
        Map<Integer, Map<String, String>> checksums = new TreeMap<>();
        pending.forEach((rank, answer) -> {
            try {
                checksums.put(rank, await(answer, deadlineNanos, rank, "save").getChecksumsMap());
            } catch (UserError e) {
                refused.add(e);
            }
        });
        if (!refused.isEmpty()) {
            throw refused.get(0);
        }
        return checksums;
    }

    // --- calls ------------------------------------------------------------------------------------

    private <A> A one(
            int rank, String what, Duration deadline, Function<WorkerControlFutureStub, ListenableFuture<A>> call) {
        return await(invoke(rank, deadline, call), deadline(deadline), rank, what);
    }

    /** The same call to all workers at once, since they wait for each other in it. */
    private <A> List<A> all(
            String what,
            Duration deadline,
            IntFunction<Function<WorkerControlFutureStub, ListenableFuture<A>>> callByRank) {
        long deadlineNanos = deadline(deadline);
        List<CompletableFuture<A>> pending = new ArrayList<>();
        for (int rank = 0; rank < size(); rank++) {
            pending.add(invoke(rank, deadline, callByRank.apply(rank)));
        }
        List<A> answers = new ArrayList<>();
        for (int rank = 0; rank < size(); rank++) {
            answers.add(await(pending.get(rank), deadlineNanos, rank, what));
        }
        return answers;
    }

    private <A> CompletableFuture<A> invoke(
            int rank, Duration deadline, Function<WorkerControlFutureStub, ListenableFuture<A>> call) {
        CompletableFuture<A> answer = new CompletableFuture<>();
        WorkerControlFutureStub stub = WorkerControlGrpc.newFutureStub(channels.get(rank))
                .withDeadlineAfter(deadline.toMillis(), TimeUnit.MILLISECONDS);
        Futures.addCallback(
                call.apply(stub),
                new FutureCallback<A>() {
                    @Override
                    public void onSuccess(@Nullable A result) {
                        answer.complete(Objects.requireNonNull(result));
                    }

                    @Override
                    public void onFailure(Throwable problem) {
                        answer.completeExceptionally(problem);
                    }
                },
                Runnable::run);
        return answer;
    }

    /** Waits for an answer, for a failure anywhere, or for the deadline. */
    private <A> A await(CompletableFuture<A> answer, long deadlineNanos, int rank, String what) {
        while (true) {
            try {
                return answer.get(POLL_MILLIS, TimeUnit.MILLISECONDS);
            } catch (TimeoutException e) {
                if (System.nanoTime() > deadlineNanos) {
                    board.post(
                            FailureBoard.Kind.CALL,
                            rank,
                            registry.task(rank),
                            "no answer to " + what
                                    + " in time; maybe the machine is overloaded, and fewer workers would do");
                }
            } catch (ExecutionException e) {
                Status status = Status.fromThrowable(e);
                String description = String.valueOf(status.getDescription());
                if (status.getCode() == Status.Code.INVALID_ARGUMENT) {
                    throw new UserError(description);
                }
                board.post(FailureBoard.Kind.CALL, rank, what, description);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException("Interrupted while waiting for " + what, e);
            }
            board.check();
        }
    }

    private static long deadline(Duration duration) {
        return System.nanoTime() + duration.toNanos();
    }

    // --- end --------------------------------------------------------------------------------------

    /** Tells the workers to stop, kills those that do not, and returns when all are gone. Idempotent. */
    @Override
    public void close() {
        if (closed) {
            return;
        }
        closed = true;
        boolean healthy = board.isEmpty();
        board.close();
        liveness.shutdownNow();
        try {
            if (healthy) {
                leaveInPeace();
            }
        } finally {
            launcher.close();
            channels.forEach(ManagedChannel::shutdownNow);
            server.shutdownNow();
            awaitServer();
            answers.shutdown();
        }
    }

    private void awaitServer() {
        try {
            boolean unused = server.awaitTermination(1, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void leaveInPeace() {
        long deadlineNanos = deadline(options.closeDeadline());
        for (int rank = 0; rank < channels.size(); rank++) {
            CompletableFuture<?> unused =
                    invoke(rank, options.closeDeadline(), stub -> stub.shutdown(ShutdownRequest.getDefaultInstance()));
        }
        for (@Nullable WorkerProcess process : processes.subList(0, channels.size())) {
            if (process == null) {
                continue;
            }
            try {
                process.exit().get(Math.max(0, deadlineNanos - System.nanoTime()), TimeUnit.NANOSECONDS);
            } catch (ExecutionException | TimeoutException e) {
                // The launcher kills it.
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                return;
            }
        }
    }
}
