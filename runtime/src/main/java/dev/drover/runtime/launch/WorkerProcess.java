package dev.drover.runtime.launch;

import java.util.List;
import java.util.concurrent.CompletableFuture;

/** A started worker, as its launcher sees it. */
public interface WorkerProcess extends AutoCloseable {

    int rank();

    /** Completes with the exit code when the process ends. */
    CompletableFuture<Integer> exit();

    /** Where its output goes, for messages. */
    String logName();

    /** The end of its output so far; empty when it cannot be read. */
    List<String> lastLogLines(int count);

    /** Ends the process now if it still runs, and returns when it is gone. Idempotent. */
    @Override
    void close();
}
