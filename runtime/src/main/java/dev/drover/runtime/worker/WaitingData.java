package dev.drover.runtime.worker;

import dev.drover.ir.type.ArrayShape;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;

/**
 * Data of steps that are still to come, until a step takes it to the device. Large values lie outside the heap in blocks, which are
 * used again, so that a value may be larger than a buffer (2 GiB) and than the heap. Owned by one thread.
 */
final class WaitingData {
    private final int blockBytes;
    private final Deque<ByteBuffer> spare = new ArrayDeque<>();

    /** @param blockBytes of a block; smaller values lie on the heap */
    WaitingData(int blockBytes) {
        this.blockBytes = blockBytes;
    }

    /** A value, in blocks of which all but the last are full. */
    static final class Value {
        private final ArrayShape shape;
        private final int blockBytes;
        private final List<ByteBuffer> blocks;

        private Value(ArrayShape shape, int blockBytes, List<ByteBuffer> blocks) {
            this.shape = shape;
            this.blockBytes = blockBytes;
            this.blocks = blocks;
        }

        ArrayShape shape() {
            return shape;
        }

        /** Copies bytes, from {@code offset} on. */
        void put(long offset, ByteBuffer bytes) {
            ByteBuffer from = bytes.duplicate();
            slices(offset, from.remaining(), (slice, distance) -> {
                int end = from.position() + slice.remaining();
                slice.put(from.duplicate().limit(end));
                from.position(end);
            });
        }

        /** Gets bytes of a value, with their distance from the first of them. */
        @FunctionalInterface
        interface Slices {
            void accept(ByteBuffer bytes, long distance);
        }

        /** Hands on so many bytes from {@code offset} on, in order; what is written to them is the value's. */
        void slices(long offset, long sizeBytes, Slices into) {
            long done = 0;
            while (done < sizeBytes) {
                long at = offset + done;
                int start = (int) (at % blockBytes);
                int size = (int) Math.min(sizeBytes - done, blockBytes - start);
                into.accept(
                        blocks.get((int) (at / blockBytes))
                                .duplicate()
                                .position(start)
                                .limit(start + size)
                                .slice(),
                        done);
                done += size;
            }
        }
    }

    /** A value whose elements are not set yet. */
    Value allocate(ArrayShape shape) {
        long left = shape.sizeBytes();
        if (left < blockBytes) {
            return new Value(shape, blockBytes, new ArrayList<>(List.of(ByteBuffer.allocate((int) left))));
        }
        List<ByteBuffer> blocks = new ArrayList<>();
        for (; left > 0; left -= blockBytes) {
            blocks.add(spare.isEmpty() ? ByteBuffer.allocateDirect(blockBytes) : spare.pop());
        }
        return new Value(shape, blockBytes, blocks);
    }

    /** Takes a value back that nobody reads any more. */
    void release(Value value) {
        value.blocks.stream().filter(ByteBuffer::isDirect).forEach(spare::push);
        value.blocks.clear();
    }
}
