package dev.drover.runtime.worker;

import dev.drover.ir.ops.Reduction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.plan.task.Program;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;

/** Memory and programs of one device: all that the interpreter of tasks needs to know of a tensor library. */
public interface Device extends AutoCloseable {

    /** Bytes that an array takes. */
    long sizeBytes(ArrayShape shape);

    /**
     * Allocates memory, all of a worker's at once.
     *
     * @return the memory, which the device owns; its elements are not set
     */
    Arena allocate(long sizeBytes);

    /** One piece of memory. */
    interface Arena {
        /** The tensor that lies there; several may lie at one place, at different times. */
        DeviceTensor tensor(long offsetBytes, ArrayShape shape);
    }

    /** Copies elements to the device, little-endian ones that belong {@code offset} bytes from the tensor's first. */
    void upload(ByteBuffer from, DeviceTensor into, long offset);

    /** A copy of elements on the host, the bytes from {@code offset} on, little-endian. */
    ByteBuffer download(DeviceTensor tensor, long offset, int sizeBytes);

    /** Copies between tensors of the same shape. */
    void copy(DeviceTensor from, DeviceTensor into);

    /**
     * Compiles a program; it needs no memory before it is bound.
     *
     * @param donations by number of output the number of the input whose memory it may take over
     * @param meshRanks global ranks of the program's devices; replica groups in the program count in this list
     * @param device this device's place in the list
     */
    DeviceProgram compile(Program program, Map<Integer, Integer> donations, List<Integer> meshRanks, int device);

    /** {@code into = into (reduction) from}, element by element. */
    void combine(DeviceTensor into, DeviceTensor from, Reduction reduction);

    /** Copies {@code part} to the units u of {@code whole}'s dim with {@code u / stride % parts == index}, in order. */
    void insert(DeviceTensor part, DeviceTensor whole, int dim, long stride, int parts, int index);

    /** The most bytes that were allocated at once, whatever for. */
    long peakBytes();

    @Override
    void close();
}
