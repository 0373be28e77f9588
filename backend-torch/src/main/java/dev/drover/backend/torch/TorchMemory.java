package dev.drover.backend.torch;

import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.pytorch.MemoryFormatOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * Off-heap blocks with counters. Freed blocks are kept for the next request of the same size, so that a step that repeats
 * allocates nothing. Safe for use by several threads; owned by one worker, which closes it last.
 */
public final class TorchMemory implements AutoCloseable {
    private static final long ALIGNMENT_BYTES = 64;

    /** A piece of memory, owned by whoever allocated it. */
    static final class Block {
        final Tensor backing;
        final Pointer pointer;
        final long address;
        final long sizeBytes;
        private boolean free;

        /** A part of another block, whose owner outlives this. */
        private Block(Block whole, long offsetBytes, long sizeBytes) {
            this.sizeBytes = sizeBytes;
            this.backing = whole.backing;
            this.pointer = new BytePointer(whole.pointer).getPointer(offsetBytes);
            this.address = whole.address + offsetBytes;
            this.free = true;
        }

        /** A part of this block; freeing it does nothing. */
        Block part(long offsetBytes, long partBytes) {
            if (offsetBytes < 0 || offsetBytes + partBytes > sizeBytes) {
                throw new IllegalArgumentException("The part (" + offsetBytes + " + " + partBytes
                        + " bytes) must lie in the block of " + sizeBytes + ".");
            }
            return new Block(this, offsetBytes, partBytes);
        }

        private Block(long sizeBytes) {
            this.sizeBytes = sizeBytes;
            try (TensorOptions options = new TensorOptions(ScalarType.Byte);
                    MemoryFormatOptional none = new MemoryFormatOptional()) {
                this.backing = torch.empty(new long[] {sizeBytes}, options, none);
            }
            this.pointer = backing.data_ptr();
            this.address = pointer.address();
        }
    }

    private final Map<Long, ArrayDeque<Block>> freeBySize = new HashMap<>();
    private long usedBytes;
    private long peakBytes;
    private long cachedBytes;
    private boolean closed;

    public TorchMemory() {
        LibTorch.load();
    }

    static long aligned(long sizeBytes) {
        return Math.max(1, (sizeBytes + ALIGNMENT_BYTES - 1) / ALIGNMENT_BYTES) * ALIGNMENT_BYTES;
    }

    synchronized Block allocate(long wantedBytes) {
        if (closed) {
            throw new IllegalStateException("The memory must be open.");
        }
        long sizeBytes = aligned(wantedBytes);
        ArrayDeque<Block> free = freeBySize.get(sizeBytes);
        Block block = free == null ? null : free.pollLast();
        if (block == null) {
            block = new Block(sizeBytes);
        } else {
            cachedBytes -= sizeBytes;
        }
        block.free = false;
        usedBytes += sizeBytes;
        peakBytes = Math.max(peakBytes, usedBytes);
        return block;
    }

    synchronized void free(Block block) {
        if (block.free) {
            return;
        }
        block.free = true;
        usedBytes -= block.sizeBytes;
        if (closed) {
            block.backing.close();
            return;
        }
        cachedBytes += block.sizeBytes;
        freeBySize.computeIfAbsent(block.sizeBytes, size -> new ArrayDeque<>()).addLast(block);
    }

    /** One piece for many tensors, in use until this memory is closed. */
    public synchronized TorchArena arena(long sizeBytes) {
        return new TorchArena(this, allocate(sizeBytes));
    }

    /** Bytes in use now: tensors that are open and the pools of programs. */
    public synchronized long usedBytes() {
        return usedBytes;
    }

    /** The most bytes that were in use at once. */
    public synchronized long peakBytes() {
        return peakBytes;
    }

    /** Bytes that are free and kept for the next request. */
    public synchronized long cachedBytes() {
        return cachedBytes;
    }

    /** Starts a new measurement of {@link #peakBytes}. */
    public synchronized void resetPeak() {
        peakBytes = usedBytes;
    }

    /** Gives cached blocks back to the system. */
    public synchronized void trim() {
        freeBySize.values().forEach(blocks -> blocks.forEach(block -> block.backing.close()));
        freeBySize.clear();
        cachedBytes = 0;
    }

    /** Frees what is cached; blocks in use are freed when their owners close them. */
    @Override
    public synchronized void close() {
        closed = true;
        trim();
    }
}
