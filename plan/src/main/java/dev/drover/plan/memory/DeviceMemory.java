package dev.drover.plan.memory;

import dev.drover.ir.type.ArrayShape;
import dev.drover.plan.task.Program;
import dev.drover.plan.task.WorkerPlan;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What a kind of device needs for values and programs; a backend answers exactly, {@link #ESTIMATE} without one. */
public interface DeviceMemory {

    /** For devices whose backend is not known: values as large as their types, each dropped after its last use. */
    DeviceMemory ESTIMATE = new DeviceMemory() {
        @Override
        public long sizeBytes(ArrayShape shape) {
            return shape.sizeBytes();
        }

        @Override
        public ProgramFootprint footprint(Program program, Map<Integer, Integer> donations, WorkerPlan worker) {
            Liveness liveness = Liveness.of(program.computation());
            return new ProgramFootprint(liveness.poolBytes(), 0, donations.keySet());
        }
    };

    /** What the kernels of a program do; null where that is not known. */
    default @Nullable KernelWork kernels(Program program, List<Integer> meshRanks) {
        return null;
    }

    /** Bytes of an array's elements. */
    long sizeBytes(ArrayShape shape);

    /**
     * What a program of a worker needs.
     *
     * @param donations by number of output the number of the input whose memory it may take over
     */
    ProgramFootprint footprint(Program program, Map<Integer, Integer> donations, WorkerPlan worker);
}
