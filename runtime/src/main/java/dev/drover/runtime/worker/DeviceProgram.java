package dev.drover.runtime.worker;

import java.util.List;

/** A compiled per-device program. One run at a time. */
public interface DeviceProgram extends AutoCloseable {

    /** Runs once. Inputs are read, but donated ones are closed; the caller owns the outputs. */
    List<DeviceTensor> run(List<DeviceTensor> inputs);

    @Override
    void close();
}
