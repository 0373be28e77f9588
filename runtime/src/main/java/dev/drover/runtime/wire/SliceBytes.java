package dev.drover.runtime.wire;

import dev.drover.ir.type.ArrayShape;
import dev.drover.plan.task.TensorSlice;
import java.nio.ByteBuffer;
import java.util.List;

/**
 * The elements of slices of a value, one slice after the other, of which some are made when they are asked for: neither the value nor a
 * slice need fit in memory. What is asked for in order reads the value in order. Used from one thread at a time.
 */
public final class SliceBytes implements TensorBytes {
    /** The value is read in blocks of at least so many bytes. */
    private static final int BLOCK_BYTES = 64 << 10;

    private final TensorBytes whole;
    private final List<TensorSlice> slices;
    private final long sliceBytes;
    private final int blockBytes;
    private final long elementBytes;
    private final long wholeBytes;
    private int current = -1;
    private Runs runs;
    private ByteBuffer block = ByteBuffer.allocate(0);
    private long blockStart;

    private SliceBytes(TensorBytes whole, List<TensorSlice> slices, int blockBytes) {
        ArrayShape shape = slices.get(0).whole();
        this.whole = whole;
        this.slices = List.copyOf(slices);
        this.sliceBytes = slices.get(0).local().sizeBytes();
        this.blockBytes = blockBytes;
        this.elementBytes = shape.dtype().sizeBytes(1);
        this.wholeBytes = shape.sizeBytes();
        this.runs = new Runs(slices.get(0));
    }

    /**
     * Of slices that are alike in shape.
     *
     * @param whole the elements of the value that they are slices of
     */
    public static TensorBytes of(TensorBytes whole, List<TensorSlice> slices) {
        return of(whole, slices, BLOCK_BYTES);
    }

    /** With blocks of so many bytes, a multiple of an element's. */
    static TensorBytes of(TensorBytes whole, List<TensorSlice> slices, int blockBytes) {
        boolean all = slices.size() == 1 && slices.get(0).cuts().isEmpty();
        return all ? whole : new SliceBytes(whole, slices, blockBytes);
    }

    @Override
    public ByteBuffer bytes(long offset, int sizeBytes) {
        ByteBuffer out = ByteBuffer.allocate(sizeBytes);
        while (out.hasRemaining()) {
            long at = offset + out.position();
            int slice = Math.toIntExact(at / sliceBytes);
            if (slice != current) {
                runs = new Runs(slices.get(slice));
                current = slice;
            }
            long first = at % sliceBytes;
            copy(first, Math.min(out.remaining(), sliceBytes - first), out);
        }
        return out.flip();
    }

    /** Appends bytes of the current slice. */
    private void copy(long first, long sizeBytes, ByteBuffer out) {
        long position = first / elementBytes;
        long end = position + sizeBytes / elementBytes;
        while (position < end) {
            long run = Math.min(runs.length(position), end - position);
            transfer(runs.start(position) * elementBytes, run * elementBytes, out);
            position += run;
        }
    }

    /** Appends bytes of the value. */
    private void transfer(long at, long sizeBytes, ByteBuffer out) {
        long from = at;
        while (from < at + sizeBytes) {
            if (from < blockStart || from >= blockStart + block.limit()) {
                long wanted = Math.max(at + sizeBytes - from, blockBytes);
                block = whole.bytes(from, (int) Math.min(wanted, wholeBytes - from))
                        .slice();
                blockStart = from;
            }
            int skipped = (int) (from - blockStart);
            int size = (int) Math.min(at + sizeBytes - from, block.limit() - skipped);
            out.put(block.duplicate().position(skipped).limit(skipped + size));
            from += size;
        }
    }

    /**
     * Where the elements of a slice lie in the value: those of its last cut dim that are neighbours, and all of the dims behind, are a run.
     */
    private static final class Runs {
        /** That the slice holds, of each dim up to the last cut one; empty for a dim that is not cut. */
        private final int[][] units;
        /** Of these dims in the slice. */
        private final long[] sizes;
        /** Of these dims in the value, in elements. */
        private final long[] strides;
        /** Of each unit of the last of these dims the first position behind those that follow it without a gap. */
        private final int[] ends;

        Runs(TensorSlice slice) {
            int dims = 1
                    + slice.cuts().stream().mapToInt(TensorSlice.Cut::dim).max().orElse(-1);
            units = new int[dims][];
            sizes = slice.local().dims();
            strides = slice.whole().strides();
            for (int dim = 0; dim < dims; dim++) {
                int number = dim;
                boolean cut = slice.cuts().stream().anyMatch(c -> c.dim() == number);
                units[dim] = cut ? slice.units(dim) : new int[0];
            }
            int[] last = dims == 0 ? new int[0] : units[dims - 1];
            ends = new int[last.length];
            for (int i = last.length - 1; i >= 0; i--) {
                ends[i] = i + 1 < last.length && last[i + 1] == last[i] + 1 ? ends[i + 1] : i + 1;
            }
        }

        /** The number of elements in a unit of the last cut dim. */
        private long inner() {
            return strides[units.length - 1];
        }

        long length(long position) {
            if (units.length == 0) {
                return Long.MAX_VALUE;
            }
            int unit = (int) (position / inner() % ends.length);
            return (ends[unit] - unit) * inner() - position % inner();
        }

        long start(long position) {
            if (units.length == 0) {
                return position;
            }
            long start = position % inner();
            long left = position / inner();
            for (int dim = units.length - 1; dim >= 0; dim--) {
                long at = left % sizes[dim];
                start += (units[dim].length == 0 ? at : units[dim][(int) at]) * strides[dim];
                left /= sizes[dim];
            }
            return start;
        }
    }
}
