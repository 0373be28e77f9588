package dev.drover.runtime;

import java.io.Serial;
import java.util.List;

/**
 * A worker died, was cut off or could not go on. Not a mistake of the user's and not (yet) a bug of ours; the command ends with
 * exit code 3. The message names the rank, what it was doing, why it is thought to have failed and the end of its log.
 */
public final class WorkerFailure extends RuntimeException {
    @Serial
    private static final long serialVersionUID = 1L;

    private final int rank;
    private final String task;
    private final String reason;
    private final transient List<String> lastLogLines;

    /**
     * @param rank the worker that failed first, as far as is known
     * @param task what it was doing; empty when it was idle
     * @param reason why it failed, without a full stop
     * @param logName where its log is; empty when there is none
     */
    public WorkerFailure(int rank, String task, String reason, String logName, List<String> lastLogLines) {
        super(describe(rank, task, reason, logName, lastLogLines));
        this.rank = rank;
        this.task = task;
        this.reason = reason;
        this.lastLogLines = List.copyOf(lastLogLines);
    }

    private static String describe(int rank, String task, String reason, String logName, List<String> lastLogLines) {
        StringBuilder text = new StringBuilder("The worker (rank ").append(rank).append(") failed");
        if (!task.isEmpty()) {
            text.append(" in task (").append(task).append(")");
        }
        text.append(": ").append(reason).append(".");
        if (!lastLogLines.isEmpty()) {
            text.append("\nThe end of its log (").append(logName).append("):");
            lastLogLines.forEach(line -> text.append("\n    ").append(line));
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
}
