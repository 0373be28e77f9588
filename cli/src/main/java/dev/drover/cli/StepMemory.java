package dev.drover.cli;

import dev.drover.backend.torch.TorchDeviceMemory;
import dev.drover.backend.torch.kernel.Kernels;
import dev.drover.ir.UserError;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.graph.TrainingStep;
import dev.drover.ir.ops.Constant;
import dev.drover.plan.memory.DeviceMemory;
import java.util.List;

/** Whose word is taken for the memory of a step: the backend's, if it could run it. */
final class StepMemory {
    private StepMemory() {}

    /**
     * Of a step that is to be run, which fails, naming all of them, if workers have no kernels for some ops; to be asked before anything is
     * planned or started.
     */
    static DeviceMemory ofRun(TrainingStep flat) {
        List<String> without = Kernels.without(flat.graph().entry());
        if (!without.isEmpty()) {
            throw new UserError(
                    "The ops (" + String.join(", ", without) + ") of the model must be ones that workers can run.",
                    "Maybe lower the model without them; inspect, plan, explain and simulate work with it.");
        }
        return ofKernels(flat);
    }

    /** Tells if there are ops that workers have no kernels for; whether there are. */
    static boolean tellIfNotRun(TrainingStep flat) {
        List<String> without = Kernels.without(flat.graph().entry());
        if (!without.isEmpty()) {
            Output.progress("workers cannot run the ops (" + String.join(", ", without)
                    + "): the model can be planned, with memory estimated, but not trained");
        }
        return !without.isEmpty();
    }

    /**
     * The backend lays programs out as it loads them, constants included. A file whose large constants were left out ({@code {...}}) can
     * be planned but not run, so it is estimated; so are steps with ops that have no kernel.
     */
    static DeviceMemory of(TrainingStep flat) {
        return tellIfNotRun(flat) ? DeviceMemory.ESTIMATE : ofKernels(flat);
    }

    private static DeviceMemory ofKernels(TrainingStep flat) {
        for (Instruction instruction : flat.graph().entry().instructions()) {
            if (instruction.op() instanceof Constant constant && constant.values() == null) {
                return DeviceMemory.ESTIMATE;
            }
        }
        return new TorchDeviceMemory();
    }
}
