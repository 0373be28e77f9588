package dev.drover.runtime.wire;

import dev.drover.ir.eval.Bits;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.type.ArrayShape;
import java.nio.ByteBuffer;

/** The elements of a tensor, little-endian and row-major, of which some are asked for at a time: it may be larger than a buffer. */
@FunctionalInterface
public interface TensorBytes {

    /** The bytes from {@code offset} on, from position to limit. */
    ByteBuffer bytes(long offset, int sizeBytes);

    static TensorBytes of(HostTensor tensor) {
        return (offset, sizeBytes) -> tensor.data().slice(Math.toIntExact(offset), sizeBytes);
    }

    static TensorBytes of(Literal literal) {
        int elementBytes = Math.toIntExact(literal.dtype().sizeBytes(1));
        return (offset, sizeBytes) -> {
            ByteBuffer buffer = ByteBuffer.allocate(sizeBytes);
            Bits.write(literal, Math.toIntExact(offset / elementBytes), sizeBytes / elementBytes, buffer);
            return buffer.flip();
        };
    }

    /** Takes the pieces of a tensor, in order. */
    @FunctionalInterface
    interface Sink {
        /** Bytes from {@code offset} on, from position to limit. */
        void accept(ArrayShape shape, long offset, ByteBuffer bytes);
    }
}
