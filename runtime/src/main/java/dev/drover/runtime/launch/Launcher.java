package dev.drover.runtime.launch;

/** Starts worker processes somewhere. Whatever it starts is gone at the latest when it is closed, or when this process dies. */
public interface Launcher extends AutoCloseable {

    /** The host name or address by which workers reach this process, and the interface on which to listen for them. */
    String coordinatorHost();

    WorkerProcess launch(WorkerCommand command);

    /** Ends all processes. Idempotent. */
    @Override
    void close();
}
