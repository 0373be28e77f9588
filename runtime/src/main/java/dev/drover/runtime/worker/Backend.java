package dev.drover.runtime.worker;

import dev.drover.runtime.comm.Communicators;
import dev.drover.runtime.comm.ConnectOptions;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What a worker needs from the tensor library below it. All methods are called from one thread, the worker's; the main class of a
 * worker makes the backend and hands it to {@link Worker}.
 */
public interface Backend extends AutoCloseable {

    /** Opens the meeting point of the data plane on this host and returns its port. Called on rank 0, once. */
    int openRendezvous(String host);

    /** Joins the data plane: makes all communicators of this worker, with all others doing the same. */
    Communicators connect(ConnectOptions options);

    /**
     * Makes a program ready to run: everything that can be allocated, compiled or cached is.
     *
     * @param communicators null when the worker was not connected (a single worker needs none)
     */
    Workload load(byte[] program, Map<String, String> options, @Nullable Communicators communicators);

    @Override
    void close();
}
