package dev.drover.runtime.wire;

import dev.drover.ir.UserError;
import dev.drover.ir.type.ArrayShape;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * A tensor on its way between processes or files.
 *
 * @param data little-endian, row-major elements, one after the other, from position 0 to the limit; not copied
 */
public record HostTensor(ArrayShape shape, ByteBuffer data) {
    public HostTensor {
        data = data.duplicate().order(ByteOrder.LITTLE_ENDIAN).rewind();
        long expectedBytes = shape.dtype().sizeBytes(shape.elements());
        if (data.limit() != expectedBytes) {
            throw new IllegalArgumentException("The size (" + data.limit() + " bytes) of the tensor (" + shape
                    + ") must be " + expectedBytes + " bytes.");
        }
    }

    /** A view with its own position. */
    @Override
    public ByteBuffer data() {
        return data.duplicate().order(ByteOrder.LITTLE_ENDIAN);
    }

    /** Fails for 2 GiB and more, which only inputs of a step and outputs of tests never are; state travels as {@link TensorBytes}. */
    public static HostTensor allocate(ArrayShape shape) {
        long sizeBytes = shape.dtype().sizeBytes(shape.elements());
        if (sizeBytes > Integer.MAX_VALUE) {
            throw new UserError(
                    "The size (" + sizeBytes + " bytes) of a step's input (" + shape + ") must be below 2 GiB.",
                    "Maybe use a smaller batch.");
        }
        return new HostTensor(shape, ByteBuffer.allocate((int) sizeBytes));
    }
}
