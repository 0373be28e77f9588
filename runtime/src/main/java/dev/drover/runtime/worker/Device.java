package dev.drover.runtime.worker;

import dev.drover.ir.ops.Reduction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.plan.task.Program;
import dev.drover.runtime.comm.Communicators;
import dev.drover.runtime.wire.HostTensor;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Memory and programs of one device: all that the interpreter of tasks needs to know of a tensor library. */
public interface Device extends AutoCloseable {

    /** A tensor whose elements are not set. */
    DeviceTensor allocate(ArrayShape shape);

    /** A copy on the device. */
    DeviceTensor upload(HostTensor value);

    /** A copy on the host. */
    HostTensor download(DeviceTensor tensor);

    /**
     * Compiles a program.
     *
     * @param donations by number of output the number of the input whose memory it may take over; that input is closed by each run
     * @param meshRanks global ranks of the program's devices; replica groups in the program count in this list
     * @param device this device's place in the list
     * @param communicators null when there is one worker only
     */
    DeviceProgram compile(
            Program program,
            Map<Integer, Integer> donations,
            List<Integer> meshRanks,
            int device,
            @Nullable Communicators communicators);

    /** {@code into = into (reduction) from}, element by element. */
    void combine(DeviceTensor into, DeviceTensor from, Reduction reduction);

    /** Copies {@code part} to the units u of {@code whole}'s dim with {@code u / stride % parts == index}, in order. */
    void insert(DeviceTensor part, DeviceTensor whole, int dim, long stride, int parts, int index);

    /** The most bytes of tensors and programs that were in use at once. */
    long peakBytes();

    @Override
    void close();
}
