package dev.drover.backend.torch;

import dev.drover.ir.type.ArrayShape;
import org.bytedeco.javacpp.Pointer;

/** One piece of memory that is laid out by its user: tensors lie at offsets, at different times also over each other. */
public final class TorchArena {
    private final TorchMemory memory;
    private final TorchMemory.Block block;

    TorchArena(TorchMemory memory, TorchMemory.Block block) {
        this.memory = memory;
        this.block = block;
    }

    /** The tensor at an offset. Closing it frees nothing. */
    public TorchTensor tensor(long offsetBytes, ArrayShape shape) {
        return new TorchTensor(memory, shape, block.part(offsetBytes, TorchTensor.sizeBytes(shape)));
    }

    Pointer at(long offsetBytes, long sizeBytes) {
        return block.part(offsetBytes, sizeBytes).pointer;
    }

    TorchMemory memory() {
        return memory;
    }
}
