package dev.drover.cli;

import dev.drover.backend.torch.TorchDeviceMemory;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.graph.TrainingStep;
import dev.drover.ir.ops.Constant;
import dev.drover.plan.memory.DeviceMemory;

/** Whose word is taken for the memory of a step: the backend's, if it could run it. */
final class StepMemory {
    private StepMemory() {}

    /**
     * The backend lays programs out as it loads them, constants included. A file whose large constants were left out ({@code {...}}) can
     * be planned but not run, so it is estimated.
     */
    static DeviceMemory of(TrainingStep flat) {
        for (Instruction instruction : flat.graph().entry().instructions()) {
            if (instruction.op() instanceof Constant constant && constant.values() == null) {
                return DeviceMemory.ESTIMATE;
            }
        }
        return new TorchDeviceMemory();
    }
}
