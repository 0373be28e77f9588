package dev.drover.runtime.wire;

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

    /** In one buffer, so below 2 GiB; what may be larger travels as {@link TensorBytes}. */
    public static HostTensor allocate(ArrayShape shape) {
        long sizeBytes = shape.dtype().sizeBytes(shape.elements());
        if (sizeBytes > Integer.MAX_VALUE) {
            throw new IllegalArgumentException(
                    "The size (" + sizeBytes + " bytes) of the tensor (" + shape + ") must be below 2 GiB.");
        }
        return new HostTensor(shape, ByteBuffer.allocate((int) sizeBytes));
    }
}
