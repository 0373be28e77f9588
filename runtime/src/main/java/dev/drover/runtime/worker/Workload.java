package dev.drover.runtime.worker;

import dev.drover.ir.type.ArrayShape;
import java.nio.ByteBuffer;
import java.util.Map;

/** A loaded program with its state. All methods but {@link #currentTask} are called from one thread. */
public interface Workload extends AutoCloseable {

    /** What is known after loading, such as bytes allocated; for the coordinator's reports. */
    Map<String, String> facts();

    /** Runs one step. */
    StepReport run(long step);

    /**
     * Replaces a part of a value that lives here: the bytes of its elements from {@code offset} on. A value's pieces come in order; it is
     * there after the last.
     */
    void put(String name, ArrayShape shape, long offset, ByteBuffer bytes);

    /** The shape of a value that lives here. */
    ArrayShape shape(String name);

    /** Copies bytes of a value that lives here, from {@code offset} on. */
    ByteBuffer fetch(String name, long offset, int sizeBytes);

    /** What is being done just now, in words for a failure message; empty when idle. Called from any thread. */
    String currentTask();

    @Override
    void close();
}
