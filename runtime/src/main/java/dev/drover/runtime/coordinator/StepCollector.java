package dev.drover.runtime.coordinator;

import dev.drover.ir.UserError;
import dev.drover.runtime.wire.proto.RunRequest;
import dev.drover.runtime.wire.proto.StepMessage;
import dev.drover.runtime.wire.proto.StepMessages;
import dev.drover.runtime.wire.proto.WorkerControlGrpc;
import dev.drover.runtime.worker.StepReport;
import io.grpc.Context;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Merges the step reports of all workers of one run. Workers may be some steps apart (a pipeline is). */
final class StepCollector implements AutoCloseable {

    private static final long POLL_MILLIS = 20;

    private final FailureBoard board;
    private final List<ManagedChannel> channels;
    private final Duration stepDeadline;
    private final List<BlockingQueue<StepReport>> reportsByRank = new ArrayList<>();
    private final Context.CancellableContext context = Context.current().withCancellation();

    private volatile @Nullable UserError userError;

    StepCollector(FailureBoard board, List<ManagedChannel> channels, Duration stepDeadline) {
        this.board = board;
        this.channels = channels;
        this.stepDeadline = stepDeadline;
        channels.forEach(channel -> reportsByRank.add(new LinkedBlockingQueue<>()));
    }

    void start(long firstStep, int steps) {
        RunRequest request =
                RunRequest.newBuilder().setFirstStep(firstStep).setSteps(steps).build();
        long deadlineMillis = Math.multiplyExact(stepDeadline.toMillis(), (long) Math.max(1, steps));
        context.run(() -> {
            for (int rank = 0; rank < channels.size(); rank++) {
                WorkerControlGrpc.newStub(channels.get(rank))
                        .withDeadlineAfter(deadlineMillis, TimeUnit.MILLISECONDS)
                        .run(request, new Reports(rank));
            }
        });
    }

    /** The reports of all workers for a step. */
    List<StepReport> next(long step) {
        List<StepReport> reports = new ArrayList<>();
        long deadlineNanos = System.nanoTime() + stepDeadline.toNanos();
        for (int rank = 0; rank < reportsByRank.size(); rank++) {
            StepReport report = take(rank, step, deadlineNanos);
            if (report.step() != step) {
                throw new IllegalStateException(
                        "The step (" + report.step() + ") of the worker (rank " + rank + ") must be " + step + ".");
            }
            reports.add(report);
        }
        return reports;
    }

    private StepReport take(int rank, long step, long deadlineNanos) {
        while (true) {
            try {
                @Nullable StepReport report = reportsByRank.get(rank).poll(POLL_MILLIS, TimeUnit.MILLISECONDS);
                if (report != null) {
                    return report;
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException("Interrupted while waiting for step " + step, e);
            }
            if (userError != null) {
                throw userError;
            }
            if (System.nanoTime() > deadlineNanos) {
                board.post(
                        FailureBoard.Kind.CALL,
                        rank,
                        "step " + step,
                        "the step took longer than " + stepDeadline.toSeconds() + " s");
            }
            board.check();
        }
    }

    /** Ends calls that still run, which is the case after a failure only. */
    @Override
    public void close() {
        context.close();
    }

    private final class Reports implements StreamObserver<StepMessages> {
        private final int rank;

        Reports(int rank) {
            this.rank = rank;
        }

        @Override
        public void onNext(StepMessages messages) {
            for (StepMessage message : messages.getStepsList()) {
                reportsByRank
                        .get(rank)
                        .add(new StepReport(
                                message.getStep(),
                                message.getElapsedNanos(),
                                message.getProcessorNanos(),
                                message.getPeakBytes(),
                                message.getScalarsMap()));
            }
        }

        @Override
        public void onError(Throwable problem) {
            Status status = Status.fromThrowable(problem);
            if (status.getCode() == Status.Code.INVALID_ARGUMENT) {
                userError = new UserError(String.valueOf(status.getDescription()));
            } else if (!context.isCancelled()) {
                board.post(FailureBoard.Kind.CALL, rank, "run", String.valueOf(status.getDescription()));
            }
        }

        @Override
        public void onCompleted() {}
    }
}
