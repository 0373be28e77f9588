package dev.drover.ir.ops;

import java.util.Arrays;

/**
 * Steps through all indexes of some dims in row-major order and keeps one offset for each of several arrays of strides.
 *
 * <pre>
 *   Walk walk = new Walk(dims, stridesA, stridesB);
 *   for (boolean more = walk.any(); more; more = walk.next()) { a[walk.offset(0)] .. b[walk.offset(1)] .. }
 * </pre>
 */
final class Walk {
    private final long[] dims;
    private final long[][] strides;
    private final long[] index;
    private final int[] offsets;

    Walk(long[] dims, long[]... strides) {
        this.dims = dims;
        this.strides = strides;
        this.index = new long[dims.length];
        this.offsets = new int[strides.length];
    }

    /** Whether there is at least one index. */
    boolean any() {
        return Arrays.stream(dims).noneMatch(d -> d == 0);
    }

    /** Offset into the array of this number at the current index. */
    int offset(int array) {
        return offsets[array];
    }

    /** Current position along a dim. */
    long index(int dim) {
        return index[dim];
    }

    /** Moves on; false at the end. */
    boolean next() {
        for (int d = dims.length - 1; d >= 0; d--) {
            if (++index[d] < dims[d]) {
                for (int a = 0; a < offsets.length; a++) {
                    offsets[a] += (int) strides[a][d];
                }
                return true;
            }
            for (int a = 0; a < offsets.length; a++) {
                offsets[a] -= (int) (strides[a][d] * (dims[d] - 1));
            }
            index[d] = 0;
        }
        return false;
    }

    /** The values at these positions. */
    static long[] pick(long[] values, Iterable<Integer> positions) {
        long[] out = new long[values.length];
        int n = 0;
        for (int position : positions) {
            out[n++] = values[position];
        }
        return Arrays.copyOf(out, n);
    }

    /** The product. */
    static long product(long[] values) {
        long product = 1;
        for (long value : values) {
            product *= value;
        }
        return product;
    }
}
