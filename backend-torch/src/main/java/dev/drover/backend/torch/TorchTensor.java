package dev.drover.backend.torch;

import dev.drover.ir.eval.Literal;
import dev.drover.ir.type.ArrayShape;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Objects;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * A dense row-major array off the heap: the handle by which workers hold inputs and outputs of programs. Elements lie as {@link
 * Carriers} says. Owned by one holder, who closes it; closing twice is harmless.
 */
public final class TorchTensor implements AutoCloseable {
    private final TorchMemory memory;
    private final ArrayShape shape;
    private TorchMemory.@Nullable Block block;
    private @Nullable Tensor view;

    TorchTensor(TorchMemory memory, ArrayShape shape, TorchMemory.Block block) {
        this.memory = memory;
        this.shape = shape;
        this.block = block;
    }

    /** A tensor whose elements are not set. */
    public static TorchTensor empty(TorchMemory memory, ArrayShape shape) {
        return new TorchTensor(memory, shape, memory.allocate(sizeBytes(shape)));
    }

    /** A copy of a literal. */
    public static TorchTensor of(TorchMemory memory, Literal literal) {
        TorchTensor tensor = empty(memory, literal.shape());
        tensor.set(literal);
        return tensor;
    }

    /** Bytes that an array takes as carried. */
    public static long sizeBytes(ArrayShape shape) {
        return shape.elements() * Carriers.width(shape.dtype());
    }

    public ArrayShape shape() {
        return shape;
    }

    public long sizeBytes() {
        return sizeBytes(shape);
    }

    /** Writes all elements. */
    public void set(Literal literal) {
        if (!literal.shape().equals(shape)) {
            throw new IllegalArgumentException(
                    "The shape (" + literal.shape() + ") of a literal must be the tensor's (" + shape + ").");
        }
        HostCopy.write(literal, pointer());
    }

    /** Writes as many elements as a literal has, from the row-major position {@code first} on. */
    public void set(long first, Literal literal) {
        int width = Carriers.width(shape.dtype());
        try (BytePointer at = at(first * width, literal.shape().elements() * width)) {
            HostCopy.write(literal, at);
        }
    }

    /** A copy of the elements. */
    public Literal toLiteral() {
        return HostCopy.read(shape, pointer());
    }

    /** A copy of some elements, in one dim, from the row-major position {@code first} on. */
    public Literal toLiteral(long first, int elements) {
        int width = Carriers.width(shape.dtype());
        try (BytePointer at = at(first * width, (long) elements * width)) {
            return HostCopy.read(ArrayShape.of(shape.dtype(), elements), at);
        }
    }

    private BytePointer at(long offset, long sizeBytes) {
        Objects.checkFromIndexSize(offset, sizeBytes, sizeBytes());
        try (BytePointer begin = new BytePointer(pointer())) {
            return begin.getPointer(offset).capacity(sizeBytes);
        }
    }

    /** Copies the elements of another tensor of the same shape. */
    public void copyFrom(TorchTensor other) {
        if (!other.shape.equals(shape)) {
            throw new IllegalArgumentException(
                    "The shape (" + other.shape + ") of a source must be the target's (" + shape + ").");
        }
        Pointer.memcpy(pointer(), other.pointer(), sizeBytes());
    }

    /** The memory itself, {@code sizeBytes} from {@code offset} on, in native order; valid until the tensor is closed. */
    public ByteBuffer buffer(long offset, int sizeBytes) {
        try (BytePointer at = at(offset, sizeBytes)) {
            return at.asByteBuffer().order(ByteOrder.nativeOrder());
        }
    }

    /** The tensor as libtorch sees it, for collectives; valid until this is closed. Not to be closed by the caller. */
    public Tensor nativeTensor() {
        Tensor made = view;
        if (made == null) {
            made = Natives.fromBlob(pointer(), Carriers.scalarType(shape.dtype()), shape.dims());
            view = made;
        }
        return made;
    }

    TorchMemory.Block block() {
        TorchMemory.Block held = block;
        if (held == null) {
            throw new IllegalStateException("The tensor (" + shape + ") must be open.");
        }
        return held;
    }

    Pointer pointer() {
        return block().pointer;
    }

    /** Address of the first element. */
    public long address() {
        return block().address;
    }

    public boolean isOpen() {
        return block != null;
    }

    /** Takes the memory out of this tensor, which is closed thereby. */
    TorchMemory.Block release() {
        TorchMemory.Block held = block();
        closeView();
        block = null;
        return held;
    }

    private void closeView() {
        if (view != null) {
            view.close();
            view = null;
        }
    }

    @Override
    public void close() {
        if (block != null) {
            memory.free(release());
        }
    }

    @Override
    public String toString() {
        return shape + (isOpen() ? "" : " (closed)");
    }
}
