package dev.drover.runtime.worker;

import dev.drover.runtime.wire.HostTensor;
import java.util.Map;

/** A loaded program with its state. All methods but {@link #currentTask} are called from one thread. */
public interface Workload extends AutoCloseable {

    /** What is known after loading, such as bytes allocated; for the coordinator's reports. */
    Map<String, String> facts();

    /** Runs one step. */
    StepReport run(long step);

    /** Replaces a value that lives here. */
    void put(String name, HostTensor value);

    /** Copies a value that lives here. */
    HostTensor fetch(String name);

    /** What is being done just now, in words for a failure message; empty when idle. Called from any thread. */
    String currentTask();

    @Override
    void close();
}
