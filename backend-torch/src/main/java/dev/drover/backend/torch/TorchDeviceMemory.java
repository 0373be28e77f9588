package dev.drover.backend.torch;

import dev.drover.backend.torch.emit.DeviceContext;
import dev.drover.ir.type.ArrayShape;
import dev.drover.plan.memory.DeviceMemory;
import dev.drover.plan.memory.ProgramFootprint;
import dev.drover.plan.task.Program;
import dev.drover.plan.task.WorkerPlan;
import java.util.Collections;
import java.util.Map;
import java.util.WeakHashMap;

/** What a worker of this backend will need, computed as it does when it loads. The devices of a mesh need the same. */
public final class TorchDeviceMemory implements DeviceMemory {
    private final Map<Object, Map<Map<Integer, Integer>, ProgramFootprint>> footprints =
            Collections.synchronizedMap(new WeakHashMap<>());

    @Override
    public long sizeBytes(ArrayShape shape) {
        return TorchTensor.sizeBytes(shape);
    }

    @Override
    public ProgramFootprint footprint(Program program, Map<Integer, Integer> donations, WorkerPlan worker) {
        return footprints
                .computeIfAbsent(program.computation(), c -> Collections.synchronizedMap(new java.util.HashMap<>()))
                .computeIfAbsent(donations, d -> {
                    DeviceContext context = new DeviceContext(worker.device(), worker.meshRanks());
                    return of(TorchLayout.of(program.computation(), donations, context, true));
                });
    }

    /** Of a program that is planned. */
    public static ProgramFootprint of(TorchLayout layout) {
        return new ProgramFootprint(layout.poolBytes(), layout.constantBytes(), layout.donationsKept());
    }
}
