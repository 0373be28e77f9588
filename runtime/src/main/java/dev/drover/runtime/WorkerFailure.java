package dev.drover.runtime;

import java.io.Serial;
import java.util.List;

/**
 * A worker died, was cut off or could not go on. Not a mistake of the user's and not (yet) a bug of ours; the command ends with
 * exit code 3. The message names the rank, what it was doing, why it is thought to have failed, the end of its log, and the workers that
 * it took with it:
 *
 * <pre>
 *   The worker (rank 1) failed in task (run stage0.post0): its process was ended by signal 9 (SIGKILL, exit code 137).
 *   Maybe ..
 *   The end of its log (run/logs/rank-1.log):
 *       12:03:09.000 rank 1 (process 4711): 312 steps are done
 *   The other workers:
 *       rank 0 merely lost a peer, in task (run stage0.post0): Connection closed by peer
 * </pre>
 */
public final class WorkerFailure extends RuntimeException {
    @Serial
    private static final long serialVersionUID = 1L;

    private final int rank;
    private final String task;
    private final String reason;
    private final transient List<String> lastLogLines;
    private final transient List<String> others;

    /**
     * @param rank the worker that failed first, as far as is known
     * @param task what it was doing; empty when it was idle
     * @param reason why it failed, without a full stop
     * @param maybe advice as a sentence; empty when there is none
     * @param logName where its log is; empty when there is none
     * @param others what came of other workers after that
     */
    public WorkerFailure(
            int rank,
            String task,
            String reason,
            String maybe,
            String logName,
            List<String> lastLogLines,
            List<String> others) {
        super(describe(rank, task, reason, maybe, logName, lastLogLines, others));
        this.rank = rank;
        this.task = task;
        this.reason = reason;
        this.lastLogLines = List.copyOf(lastLogLines);
        this.others = List.copyOf(others);
    }

    private static String describe(
            int rank,
            String task,
            String reason,
            String maybe,
            String logName,
            List<String> lastLogLines,
            List<String> others) {
        StringBuilder text = new StringBuilder("The worker (rank ").append(rank).append(") failed");
        if (!task.isEmpty()) {
            text.append(" in task (").append(task).append(")");
        }
        text.append(": ").append(reason).append(".");
        if (!maybe.isEmpty()) {
            text.append("\n").append(maybe);
        }
        if (!lastLogLines.isEmpty()) {
            text.append("\nThe end of its log (").append(logName).append("):");
            lastLogLines.forEach(line -> text.append("\n    ").append(line));
        }
        if (!others.isEmpty()) {
            text.append("\nThe other workers:");
            others.forEach(line -> text.append("\n    ").append(line));
        }
        return text.toString();
    }

    public int rank() {
        return rank;
    }

    public String task() {
        return task;
    }

    public String reason() {
        return reason;
    }

    public List<String> lastLogLines() {
        return lastLogLines;
    }

    public List<String> others() {
        return others;
    }
}
