package dev.drover.backend.torch.emit;

import dev.drover.backend.torch.Carriers;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * A strided window on a buffer, as libtorch has it: element {@code i} lies at {@code offset + sum(i[d] * stride[d])}, in elements
 * of {@code dtype}, whose carrier has the width of the buffer's. A stride of 0 repeats.
 */
public final class View {
    private final Buffer buffer;
    private final DType dtype;
    private final long[] sizes;
    private final long[] strides;
    private final long offset;

    public View(Buffer buffer, DType dtype, long[] sizes, long[] strides, long offset) {
        this.buffer = buffer;
        this.dtype = dtype;
        this.sizes = sizes;
        this.strides = strides;
        this.offset = offset;
    }

    /** All of a buffer, row-major. */
    static View whole(Buffer buffer, ArrayShape shape) {
        return new View(buffer, shape.dtype(), shape.dims(), shape.strides(), 0);
    }

    public Buffer buffer() {
        return buffer;
    }

    public DType dtype() {
        return dtype;
    }

    public int rank() {
        return sizes.length;
    }

    public long size(int dim) {
        return sizes[dim];
    }

    public long stride(int dim) {
        return strides[dim];
    }

    public long[] sizes() {
        return sizes.clone();
    }

    public long[] strides() {
        return strides.clone();
    }

    /** Strides in which those of dims of size 1, which do not matter, are as row-major order has them. */
    long[] canonicalStrides() {
        long[] out = strides.clone();
        for (int d = sizes.length - 1; d >= 0; d--) {
            if (sizes[d] == 1) {
                out[d] = d == sizes.length - 1 ? 1 : sizes[d + 1] * out[d + 1];
            }
        }
        return out;
    }

    public long offset() {
        return offset;
    }

    public ArrayShape shape() {
        return ArrayShape.of(dtype, sizes);
    }

    public long elements() {
        long product = 1;
        for (long size : sizes) {
            product *= size;
        }
        return product;
    }

    /** Row-major without gaps (strides of dims of size 1 do not matter). */
    public boolean isContiguous() {
        long expected = 1;
        for (int d = sizes.length - 1; d >= 0; d--) {
            if (sizes[d] == 0) {
                return true;
            }
            if (sizes[d] != 1) {
                if (strides[d] != expected) {
                    return false;
                }
                expected *= sizes[d];
            }
        }
        return true;
    }

    /** Whether every element of the buffer is seen exactly once, in whatever order of dims. */
    public boolean isDense() {
        if (elements() != buffer.elements() || offset != 0) {
            return false;
        }
        return packed() != null;
    }

    /** The dims from the slowest to the fastest if the view has no gaps and no repetition, else null. */
    public int @Nullable [] packed() {
        Integer[] order = new Integer[sizes.length];
        Arrays.setAll(order, i -> i);
        Arrays.sort(order, (a, b) -> {
            int byStride = Long.compare(strides[b], strides[a]);
            return byStride != 0 ? byStride : Integer.compare(a, b);
        });
        long expected = 1;
        for (int i = order.length - 1; i >= 0; i--) {
            int d = order[i];
            if (sizes[d] != 1) {
                if (strides[d] != expected) {
                    return null;
                }
                expected *= sizes[d];
            }
        }
        int[] out = new int[order.length];
        for (int i = 0; i < out.length; i++) {
            out[i] = order[i];
        }
        return out;
    }

    /** Whether some dim of more than one element repeats. */
    public boolean repeats() {
        for (int d = 0; d < sizes.length; d++) {
            if (strides[d] == 0 && sizes[d] > 1) {
                return true;
            }
        }
        return false;
    }

    /** Dim i of the result is dim {@code order[i]} of this. */
    public View permute(int... order) {
        long[] newSizes = new long[order.length];
        long[] newStrides = new long[order.length];
        for (int i = 0; i < order.length; i++) {
            newSizes[i] = sizes[order[i]];
            newStrides[i] = strides[order[i]];
        }
        return new View(buffer, dtype, newSizes, newStrides, offset);
    }

    /** HLO's broadcast: dim i of this becomes dim {@code dims[i]}; the others repeat. */
    public View broadcast(long[] newSizes, int... dims) {
        long[] newStrides = new long[newSizes.length];
        for (int i = 0; i < dims.length; i++) {
            newStrides[dims[i]] = sizes[i] == 1 ? 0 : strides[i];
        }
        return new View(buffer, dtype, newSizes.clone(), newStrides, offset);
    }

    /** Elements {@code start, start + step, ..} of each dim. */
    public View slice(long[] starts, long[] newSizes, long[] steps) {
        long[] newStrides = new long[sizes.length];
        long at = offset;
        for (int d = 0; d < sizes.length; d++) {
            newStrides[d] = strides[d] * steps[d];
            at += strides[d] * starts[d];
        }
        return new View(buffer, dtype, newSizes.clone(), newStrides, at);
    }

    /** One dim cut to a range. */
    public View narrow(int dim, long start, long length) {
        long[] newSizes = sizes.clone();
        newSizes[dim] = length;
        return new View(buffer, dtype, newSizes, strides, offset + start * strides[dim]);
    }

    /** Without the first dim, at one of its indexes. */
    public View select(long index) {
        long[] newSizes = Arrays.copyOfRange(sizes, 1, sizes.length);
        long[] newStrides = Arrays.copyOfRange(strides, 1, strides.length);
        return new View(buffer, dtype, newSizes, newStrides, offset + index * strides[0]);
    }

    /** The same elements in the same row-major order under other dims, or null if that needs a copy. */
    public @Nullable View reshape(long... newSizes) {
        long[] newStrides = new long[newSizes.length];
        if (elements() == 0 || elements() == 1) {
            return new View(buffer, dtype, newSizes.clone(), newStrides, offset);
        }
        // Dims of size 1 drop out; neighbours of which the outer steps over the inner merge to one run.
        int at = newSizes.length - 1;
        int d = sizes.length - 1;
        while (d >= 0) {
            if (sizes[d] == 1) {
                d--;
                continue;
            }
            long run = sizes[d];
            long inner = strides[d];
            int outer = d - 1;
            while (outer >= 0 && (sizes[outer] == 1 || strides[outer] == inner * run)) {
                run *= sizes[outer];
                outer--;
            }
            long left = run;
            long stride = inner;
            while (left > 1) {
                if (at < 0) {
                    return null;
                }
                if (newSizes[at] == 1) {
                    at--;
                    continue;
                }
                if (left % newSizes[at] != 0) {
                    return null;
                }
                newStrides[at] = stride;
                stride *= newSizes[at];
                left /= newSizes[at];
                at--;
            }
            d = outer;
        }
        return new View(buffer, dtype, newSizes.clone(), newStrides, offset);
    }

    /** The same bits read as another type of the same carrier width. */
    public View as(DType other) {
        if (Carriers.width(other) != Carriers.width(dtype)) {
            throw new IllegalArgumentException(
                    "The type (" + other.hloName() + ") of a view must be as wide as (" + dtype.hloName() + ").");
        }
        return new View(buffer, other, sizes, strides, offset);
    }

    /** Whether both see the same elements of their memory in the same order. */
    boolean sameLayout(View other) {
        if (offset != other.offset || !Arrays.equals(sizes, other.sizes)) {
            return false;
        }
        for (int d = 0; d < sizes.length; d++) {
            if (sizes[d] != 1 && strides[d] != other.strides[d]) {
                return false;
            }
        }
        return true;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof View that
                && buffer == that.buffer
                && dtype == that.dtype
                && offset == that.offset
                && Arrays.equals(sizes, that.sizes)
                && Arrays.equals(strides, that.strides);
    }

    @Override
    public int hashCode() {
        return System.identityHashCode(buffer) * 31
                + Arrays.hashCode(sizes) * 17
                + Arrays.hashCode(strides)
                + Long.hashCode(offset)
                + dtype.hashCode();
    }

    @Override
    public String toString() {
        return shape() + " strides " + Arrays.toString(strides) + " of " + buffer;
    }
}
