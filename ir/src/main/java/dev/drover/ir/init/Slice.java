package dev.drover.ir.init;

import dev.drover.ir.type.ArrayShape;
import java.util.ArrayList;
import java.util.List;

/**
 * A part of an array: along each dim, the indexes taken, as blocks of {@code length} consecutive ones, the first at {@code start}, the next {@code period} further on, {@code blocks} of them. A plain slice has one block per dim; cutting the minor factor of a merged dim gives several.
 */
public record Slice(List<Dim> dims) {

    /** The indexes {@code start + b * period + i} for b in [0, blocks), i in [0, length), in that order. */
    public record Dim(long start, long length, long period, long blocks) {
        public Dim {
            if (start < 0 || length < 0 || blocks < 0 || period < (blocks > 1 ? length : 0)) {
                throw new IllegalArgumentException("The slice (start " + start + ", length " + length + ", period "
                        + period + ", blocks " + blocks + ") of a dim must not run backwards.");
            }
        }

        /** The indexes {@code start} to {@code start + length - 1}. */
        public static Dim of(long start, long length) {
            return new Dim(start, length, length, 1);
        }

        /** Number of indexes. */
        public long size() {
            return length * blocks;
        }

        /** The index at a position in [0, size). */
        public long index(long position) {
            return start + position / length * period + position % length;
        }
    }

    public Slice {
        dims = List.copyOf(dims);
    }

    /** All of an array. */
    public static Slice whole(ArrayShape shape) {
        long[] starts = new long[shape.rank()];
        return of(starts, shape.dims());
    }

    /** A plain slice. */
    public static Slice of(long[] starts, long[] sizes) {
        List<Dim> dims = new ArrayList<>();
        for (int i = 0; i < starts.length; i++) {
            dims.add(Dim.of(starts[i], sizes[i]));
        }
        return new Slice(dims);
    }

    /** The shape of the part taken from an array; fails if it sticks out. */
    public ArrayShape of(ArrayShape whole) {
        if (whole.rank() != dims.size()) {
            throw new IllegalArgumentException(
                    "The slice (" + this + ") of shape (" + whole + ") must have " + whole.rank() + " dims.");
        }
        long[] sizes = new long[dims.size()];
        for (int i = 0; i < sizes.length; i++) {
            Dim dim = dims.get(i);
            sizes[i] = dim.size();
            if (sizes[i] > 0 && dim.index(sizes[i] - 1) >= whole.dim(i)) {
                throw new IllegalArgumentException(
                        "The slice (" + dim + ") of dim (" + i + ") must lie within size (" + whole.dim(i) + ").");
            }
        }
        return whole.withDims(sizes);
    }
}
