package dev.drover.runtime.worker;

import dev.drover.runtime.comm.PeerFailure;
import dev.drover.runtime.wire.Wire;
import dev.drover.runtime.wire.proto.CoordinatorControlGrpc;
import dev.drover.runtime.wire.proto.CoordinatorMessage;
import dev.drover.runtime.wire.proto.Endpoint;
import dev.drover.runtime.wire.proto.Failure;
import dev.drover.runtime.wire.proto.Heartbeat;
import dev.drover.runtime.wire.proto.Registration;
import dev.drover.runtime.wire.proto.WorkerMessage;
import io.grpc.ManagedChannel;
import io.grpc.stub.StreamObserver;
import java.util.Arrays;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** A worker's stream to the coordinator: registration, heartbeats, failures. */
final class ControlLink implements AutoCloseable {

    private static final long HEARTBEAT_MILLIS = 500;
    private static final int MAX_STACK_LINES = 40;

    private final ManagedChannel channel;
    private final StreamObserver<WorkerMessage> out;
    private final ScheduledExecutorService heartbeats =
            Executors.newSingleThreadScheduledExecutor(task -> new Thread(task, "heartbeat"));
    private final CountDownLatch lost = new CountDownLatch(1);

    ControlLink(WorkerOptions options) {
        channel = Wire.connect(options.coordinatorHost(), options.coordinatorPort(), options.token());
        out = CoordinatorControlGrpc.newStub(channel).attach(new StreamObserver<>() {
            @Override
            public void onNext(CoordinatorMessage message) {}

            @Override
            public void onError(Throwable problem) {
                lost.countDown();
            }

            @Override
            public void onCompleted() {
                lost.countDown();
            }
        });
    }

    /** Registers and starts the heartbeats. */
    void register(int rank, String host, int port, Supplier<String> currentTask) {
        send(WorkerMessage.newBuilder()
                .setRegistration(Registration.newBuilder()
                        .setRank(rank)
                        .setControl(Endpoint.newBuilder().setHost(host).setPort(port))
                        .setPid(ProcessHandle.current().pid()))
                .build());
        ScheduledFuture<?> unused = heartbeats.scheduleAtFixedRate(
                () -> send(WorkerMessage.newBuilder()
                        .setHeartbeat(Heartbeat.newBuilder().setTask(currentTask.get()))
                        .build()),
                HEARTBEAT_MILLIS,
                HEARTBEAT_MILLIS,
                TimeUnit.MILLISECONDS);
    }

    void fail(String task, Throwable problem) {
        Failure.Builder failure =
                Failure.newBuilder().setTask(task).setMessage(describe(problem)).setByPeer(isByPeer(problem));
        Arrays.stream(problem.getStackTrace())
                .limit(MAX_STACK_LINES)
                .forEach(frame -> failure.addStack(frame.toString()));
        send(WorkerMessage.newBuilder().setFailure(failure).build());
    }

    /** One line: native messages carry a stack of their own after the first. */
    static String describe(Throwable problem) {
        String message =
                String.valueOf(problem.getMessage()).lines().findFirst().orElse("");
        return problem instanceof PeerFailure ? message : problem.getClass().getSimpleName() + ": " + message;
    }

    private static boolean isByPeer(Throwable problem) {
        for (@Nullable Throwable cause = problem; cause != null; cause = cause.getCause()) {
            if (cause instanceof PeerFailure) {
                return true;
            }
        }
        return false;
    }

    private synchronized void send(WorkerMessage message) {
        if (lost.getCount() > 0) {
            out.onNext(message);
        }
    }

    /** Counts down when the coordinator is gone. */
    CountDownLatch lost() {
        return lost;
    }

    @Override
    public void close() {
        heartbeats.shutdownNow();
        synchronized (this) {
            if (lost.getCount() > 0) {
                out.onCompleted();
            }
        }
        channel.shutdownNow();
    }
}
