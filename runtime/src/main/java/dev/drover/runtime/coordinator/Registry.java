package dev.drover.runtime.coordinator;

import dev.drover.runtime.wire.proto.CoordinatorControlGrpc;
import dev.drover.runtime.wire.proto.CoordinatorMessage;
import dev.drover.runtime.wire.proto.Failure;
import dev.drover.runtime.wire.proto.Registration;
import dev.drover.runtime.wire.proto.WorkerMessage;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** The coordinator's side of the streams that workers hold open: who is there, what they do, and what goes wrong. */
final class Registry extends CoordinatorControlGrpc.CoordinatorControlImplBase {

    private static final class Presence {
        private String task = "";
        private long lastSignNanos = System.nanoTime();
        private boolean ended;
    }

    private final List<CompletableFuture<Registration>> registrations = new ArrayList<>();
    private final Map<Integer, Presence> presenceByRank = new HashMap<>();
    private final FailureBoard board;

    Registry(int workers, FailureBoard board) {
        for (int rank = 0; rank < workers; rank++) {
            registrations.add(new CompletableFuture<>());
        }
        this.board = board;
    }

    /** Completes when the worker has registered. */
    CompletableFuture<Registration> registration(int rank) {
        return registrations.get(rank);
    }

    /** What the worker was doing at its last sign of life. */
    synchronized String task(int rank) {
        Presence presence = presenceByRank.get(rank);
        return presence == null ? "" : presence.task;
    }

    /** Posts the workers that have been silent for longer than this. */
    synchronized void checkLiveness(long maxSilenceNanos) {
        long now = System.nanoTime();
        presenceByRank.forEach((rank, presence) -> {
            if (!presence.ended && now - presence.lastSignNanos > maxSilenceNanos) {
                presence.ended = true;
                board.post(
                        FailureBoard.Kind.SILENT,
                        rank,
                        presence.task,
                        "no sign of life for " + TimeUnit.NANOSECONDS.toSeconds(maxSilenceNanos)
                                + " s, though its process has not ended; maybe the machine is overloaded or the process was stopped");
            }
        });
    }

    @Override
    public StreamObserver<WorkerMessage> attach(StreamObserver<CoordinatorMessage> out) {
        return new StreamObserver<>() {
            private int rank = -1;

            @Override
            public void onNext(WorkerMessage message) {
                switch (message.getMessageCase()) {
                    case REGISTRATION -> register(message.getRegistration());
                    case HEARTBEAT -> seen(rank, message.getHeartbeat().getTask());
                    case FAILURE -> fail(message.getFailure());
                    default -> {
                        // From a newer worker; the token makes that impossible.
                    }
                }
            }

            private void register(Registration registration) {
                rank = registration.getRank();
                if (rank < 0 || rank >= registrations.size()) {
                    out.onError(Status.INVALID_ARGUMENT
                            .withDescription("The rank (" + rank + ") must be expected.")
                            .asRuntimeException());
                    return;
                }
                seen(rank, "");
                registrations.get(rank).complete(registration);
            }

            private void fail(Failure failure) {
                seen(rank, failure.getTask());
                board.post(
                        failure.getByPeer() ? FailureBoard.Kind.ECHO : FailureBoard.Kind.OWN,
                        rank,
                        failure.getTask(),
                        failure.getMessage());
            }

            @Override
            public void onError(Throwable problem) {
                ended(rank);
            }

            @Override
            public void onCompleted() {
                ended(rank);
                out.onCompleted();
            }
        };
    }

    private synchronized void seen(int rank, String task) {
        Presence presence = presenceByRank.computeIfAbsent(rank, r -> new Presence());
        presence.task = task;
        presence.lastSignNanos = System.nanoTime();
    }

    private synchronized void ended(int rank) {
        Presence presence = presenceByRank.get(rank);
        if (presence != null && !presence.ended) {
            presence.ended = true;
            board.post(FailureBoard.Kind.LOST, rank, presence.task, "its connection to the coordinator broke");
        }
    }
}
