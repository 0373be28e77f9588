package dev.drover.runtime.worker;

import dev.drover.plan.memory.ProgramFootprint;
import dev.drover.runtime.comm.Communicators;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A compiled per-device program. One run at a time. */
public interface DeviceProgram extends AutoCloseable {

    /** What it needs. */
    ProgramFootprint footprint();

    /**
     * Makes it ready to run.
     *
     * @param poolOffsetBytes where it may keep temporaries while it runs
     * @param constantsOffsetBytes where it may keep constants
     * @param communicators null when there is one worker only
     */
    void bind(
            Device.Arena arena, long poolOffsetBytes, long constantsOffsetBytes, @Nullable Communicators communicators);

    /**
     * A run on tensors, as often as wanted: inputs are read, outputs written; an output that takes over the memory of an input lies where
     * that lies.
     */
    Runnable on(List<DeviceTensor> inputs, List<DeviceTensor> outputs);

    @Override
    void close();
}
