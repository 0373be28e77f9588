package dev.drover.backend.torch.kernel;

import java.nio.FloatBuffer;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.pytorch.Tensor;

/** Blocks of a chain one after the other whose elements fit in buffers, which end at 2 GiB; nearly always all of them. */
final class Stretch {
    private static final long MOST_ELEMENTS = 1L << 28;

    private final Range range;
    private final Memory[] in;
    private final Memory[] out;
    private final FloatBuffer[] inBuffers;
    private final FloatBuffer[] outBuffers;
    private final long elements;

    /** Blocks {@code [from, to)}. */
    record Range(long from, long to) {}

    /** Ranges of all blocks. */
    static List<Range> ranges(long blocks, int block) {
        return ranges(blocks, Math.max(1, MOST_ELEMENTS / block));
    }

    static List<Range> ranges(long blocks, long most) {
        List<Range> ranges = new ArrayList<>();
        for (long from = 0; from < blocks; from += most) {
            ranges.add(new Range(from, Math.min(blocks, from + most)));
        }
        return ranges;
    }

    /**
     * A stretch of a chain's elements.
     *
     * @param along by operand
     * @param elements of the whole chain
     * @param width elements of a row
     * @param block elements of a block
     */
    Stretch(Range range, Tensor[] in, List<BlockLoop.Along> along, Tensor[] out, long elements, int width, int block) {
        this.range = range;
        this.elements = Math.min(elements - range.from() * block, (range.to() - range.from()) * block);
        this.in = new Memory[in.length];
        this.out = new Memory[out.length];
        this.inBuffers = new FloatBuffer[in.length];
        this.outBuffers = new FloatBuffer[out.length];
        long first = range.from() * block;
        for (int i = 0; i < in.length; i++) {
            this.in[i] = switch (along.get(i)) {
                case ELEMENTS -> new Memory(in[i], first, this.elements);
                case COLUMNS -> new Memory(in[i], first / width, this.elements / width);
                case ROWS -> new Memory(in[i], 0, width);
                case ONCE -> new Memory(in[i], 0, 1);
            };
        }
        for (int i = 0; i < out.length; i++) {
            this.out[i] = new Memory(out[i], first, this.elements);
        }
    }

    /** Looks where the memory is now. */
    void locate() {
        for (int i = 0; i < in.length; i++) {
            inBuffers[i] = in[i].buffer();
        }
        for (int i = 0; i < out.length; i++) {
            outBuffers[i] = out[i].buffer();
        }
    }

    /** Runs those of the chain's blocks {@code [from, to)} that are in the stretch. */
    void run(BlockLoop loop, long from, long to) {
        long first = Math.max(from, range.from());
        long end = Math.min(to, range.to());
        if (first < end) {
            loop.run(inBuffers, outBuffers, elements, first - range.from(), end - range.from());
        }
    }

    /** Some elements of a tensor as a buffer; made anew only when they have moved. */
    private static final class Memory {
        private final Tensor tensor;
        private final long first;
        private final int elements;
        private long address;
        private FloatBuffer buffer = FloatBuffer.allocate(0);

        Memory(Tensor tensor, long first, long elements) {
            this.tensor = tensor;
            this.first = first;
            this.elements = Math.toIntExact(elements);
        }

        FloatBuffer buffer() {
            Pointer pointer = tensor.data_ptr();
            if (pointer.address() != address) {
                address = pointer.address();
                buffer = new FloatPointer(pointer)
                        .getPointer(first)
                        .capacity(elements)
                        .asBuffer();
            }
            return buffer;
        }
    }
}
