package dev.drover.backend.torch;

import dev.drover.backend.torch.emit.DeviceContext;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.Collective;
import dev.drover.ir.type.ArrayShape;
import dev.drover.plan.memory.DeviceMemory;
import dev.drover.plan.memory.KernelWork;
import dev.drover.plan.memory.ProgramFootprint;
import dev.drover.plan.task.Program;
import dev.drover.plan.task.WorkerPlan;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;

/** What a worker of this backend will need, computed as it does when it loads. The devices of a mesh need the same. */
public final class TorchDeviceMemory implements DeviceMemory {
    private static final Set<String> PRODUCTS = Set.of("convolution", "dot", "triangular-solve");

    private final Map<Object, Map<Map<Integer, Integer>, ProgramFootprint>> footprints =
            Collections.synchronizedMap(new WeakHashMap<>());

    private final Map<Object, KernelWork> kernels = Collections.synchronizedMap(new WeakHashMap<>());

    @Override
    public long sizeBytes(ArrayShape shape) {
        return TorchTensor.sizeBytes(shape);
    }

    @Override
    public ProgramFootprint footprint(Program program, Map<Integer, Integer> donations, WorkerPlan worker) {
        return footprints
                .computeIfAbsent(program.computation(), c -> Collections.synchronizedMap(new HashMap<>()))
                .computeIfAbsent(donations, d -> {
                    DeviceContext context = new DeviceContext(worker.device(), worker.meshRanks());
                    TorchLayout layout = TorchLayout.of(program.computation(), donations, context, true);
                    kernels.put(program.computation(), work(program.computation(), layout));
                    return of(layout);
                });
    }

    @Override
    public KernelWork kernels(Program program, List<Integer> meshRanks) {
        return kernels.computeIfAbsent(
                program.computation(),
                c -> work(
                        program.computation(),
                        TorchLayout.of(program.computation(), Map.of(), new DeviceContext(0, meshRanks), true)));
    }

    private static KernelWork work(Computation computation, TorchLayout layout) {
        Set<String> without = new HashSet<>();
        for (Instruction instruction : computation.instructions()) {
            if (instruction.op() instanceof Collective
                    || PRODUCTS.contains(instruction.op().opcode())) {
                without.add(instruction.name());
            }
        }
        return layout.kernelWork(without);
    }

    /** Of a program that is planned. */
    public static ProgramFootprint of(TorchLayout layout) {
        return new ProgramFootprint(layout.poolBytes(), layout.constantBytes(), layout.donationsKept());
    }
}
