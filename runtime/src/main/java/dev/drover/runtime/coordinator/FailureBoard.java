package dev.drover.runtime.coordinator;

import dev.drover.runtime.WorkerFailure;
import dev.drover.runtime.launch.ProcessEnd;
import dev.drover.runtime.launch.WorkerProcess;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
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

    private record Sign(Kind kind, int rank, String task, String reason, String maybe) {
        /** Of a worker that is not the first cause. */
        String afterwards() {
            return "rank " + rank
                    + (kind == Kind.ECHO ? " merely lost a peer" : kind.isDecisive() ? " failed too" : " then was lost")
                    + (task.isEmpty() ? "" : ", in task (" + task + ")") + ": " + reason;
        }
    }

    private static final int LOG_LINES = 20;
    private static final int OTHERS_AT_MOST = 8;
    private static final long GRACE_MILLIS = 2000;
    /** Between the end of a process and the arrival of the last message that it sent. */
    private static final long SETTLE_MILLIS = 150;
    /** Until those that lost a peer have told it. */
    private static final long ECHO_MILLIS = 1500;

    private final List<Sign> signs = new ArrayList<>();
    private final int workers;
    private final IntFunction<WorkerProcess> processByRank;
    private boolean closed;

    FailureBoard(int workers, IntFunction<WorkerProcess> processByRank) {
        this.workers = workers;
        this.processByRank = processByRank;
    }

    void post(Kind kind, int rank, String task, String reason) {
        add(new Sign(kind, rank, task, reason, ""));
    }

    void postEnd(int rank, String task, ProcessEnd end) {
        add(new Sign(Kind.EXIT, rank, task, "its process " + end.text(), end.maybe()));
    }

    private synchronized void add(Sign sign) {
        if (!closed) {
            signs.add(sign);
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
                cause.maybe(),
                process == null ? "" : process.logName(),
                process == null ? List.of() : process.lastLogLines(LOG_LINES),
                others(cause.rank()));
    }

    /** What came of the other workers until now, a line for each. */
    private synchronized List<String> others(int failed) {
        awaitEchoes(failed);
        Map<Integer, Sign> firstByRank = new TreeMap<>();
        for (Sign sign : signs) {
            if (sign.rank() != failed) {
                firstByRank.merge(sign.rank(), sign, (a, b) -> b.kind().compareTo(a.kind()) < 0 ? b : a);
            }
        }
        List<String> lines = new ArrayList<>();
        firstByRank.values().stream().limit(OTHERS_AT_MOST).forEach(sign -> lines.add(sign.afterwards()));
        if (firstByRank.size() > OTHERS_AT_MOST) {
            lines.add("and " + (firstByRank.size() - OTHERS_AT_MOST) + " more");
        }
        return lines;
    }

    /** Where a process has ended, the others fail by themselves soon, unless they were idle. */
    private synchronized void awaitEchoes(int failed) {
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(ECHO_MILLIS);
        try {
            while (signs.stream().anyMatch(sign -> sign.kind() == Kind.EXIT && sign.rank() == failed)
                    && signs.stream().mapToInt(Sign::rank).distinct().count() < workers
                    && System.nanoTime() < deadline) {
                TimeUnit.NANOSECONDS.timedWait(this, Math.max(1, deadline - System.nanoTime()));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
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
