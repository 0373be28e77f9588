package dev.drover.runtime.coordinator;

import dev.drover.runtime.WorkerFailure;
import dev.drover.runtime.launch.WorkerProcess;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/**
 * Collects the signs that something went wrong, and finds the first cause among them.
 *
 * <p>When one worker dies, its neighbours report broken connections a millisecond later, often before the operating system has told
 * us of the death. So echoes wait a moment for something better:
 *
 * <pre>
 *   OWN       a worker reports its own failure          decisive
 *   EXIT      a process has ended                       decisive
 *   SILENT    no heartbeat for too long                 decisive
 *   LOST      the control stream broke                  wait for its exit or report
 *   ECHO      a worker reports a peer's failure         wait for the peer's exit or report
 *   CALL      a call failed or timed out                wait for anything better
 * </pre>
 */
final class FailureBoard {

    enum Kind {
        OWN,
        EXIT,
        SILENT,
        LOST,
        ECHO,
        CALL;

        boolean isDecisive() {
            return this == OWN || this == EXIT || this == SILENT;
        }
    }

    private record Sign(Kind kind, int rank, String task, String reason) {}

    private static final int LOG_LINES = 20;
    private static final long GRACE_MILLIS = 2000;
    /** Between the end of a process and the arrival of the last message that it sent. */
    private static final long SETTLE_MILLIS = 150;

    private final List<Sign> signs = new ArrayList<>();
    private final IntFunction<WorkerProcess> processByRank;
    private boolean closed;

    FailureBoard(IntFunction<WorkerProcess> processByRank) {
        this.processByRank = processByRank;
    }

    synchronized void post(Kind kind, int rank, String task, String reason) {
        if (!closed) {
            signs.add(new Sign(kind, rank, task, reason));
            notifyAll();
        }
    }

    /** From now on workers end because they are told to. */
    synchronized void close() {
        closed = true;
    }

    synchronized boolean isEmpty() {
        return signs.isEmpty();
    }

    /** Throws the failure when there is one. */
    void check() {
        if (!isEmpty()) {
            throw diagnose();
        }
    }

    /** Names the first cause; waits up to two seconds for a decisive sign. There must be a sign. */
    WorkerFailure diagnose() {
        Sign cause = cause();
        @Nullable WorkerProcess process = processByRank.apply(cause.rank());
        return new WorkerFailure(
                cause.rank(),
                cause.task(),
                cause.reason(),
                process == null ? "" : process.logName(),
                process == null ? List.of() : process.lastLogLines(LOG_LINES));
    }

    private synchronized Sign cause() {
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(GRACE_MILLIS);
        try {
            while (signs.stream().noneMatch(sign -> sign.kind().isDecisive()) && System.nanoTime() < deadline) {
                TimeUnit.NANOSECONDS.timedWait(this, Math.max(1, deadline - System.nanoTime()));
            }
            if (signs.stream().noneMatch(sign -> sign.kind() == Kind.OWN)) {
                TimeUnit.MILLISECONDS.timedWait(this, SETTLE_MILLIS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return signs.stream().min(Comparator.comparing(Sign::kind)).orElseThrow();
    }
}
