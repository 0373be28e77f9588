package dev.drover.ir.ops;

import dev.drover.ir.eval.Literal;
import java.util.Arrays;

/** Copies a box of elements from one literal to another, each side with an offset and a stride for each dim. */
final class StridedCopy {
    private StridedCopy() {}

    /**
     * {@code to[toOffset + sum i_d toStrides_d] = from[fromOffset + sum i_d fromStrides_d]} for all i below the extents. Strides
     * may be 0 or negative; both literals have one type.
     */
    static void copy(
            Literal from,
            long fromOffset,
            long[] fromStrides,
            Literal to,
            long toOffset,
            long[] toStrides,
            long[] extents) {
        for (long extent : extents) {
            if (extent <= 0) {
                return;
            }
        }
        if (from.dtype().isComplex()) {
            // Pairs of doubles: one more dim, of two.
            boxes(
                    from.doubles(),
                    2 * fromOffset,
                    pairs(fromStrides, 1),
                    to.doubles(),
                    2 * toOffset,
                    pairs(toStrides, 1),
                    append(extents, 2));
        } else if (from.dtype().isFloat()) {
            boxes(from.doubles(), fromOffset, fromStrides, to.doubles(), toOffset, toStrides, extents);
        } else {
            boxes(from.longs(), fromOffset, fromStrides, to.longs(), toOffset, toStrides, extents);
        }
    }

    private static long[] pairs(long[] strides, long last) {
        long[] doubled = append(strides, last);
        for (int d = 0; d < strides.length; d++) {
            doubled[d] *= 2;
        }
        return doubled;
    }

    private static long[] append(long[] values, long last) {
        long[] longer = Arrays.copyOf(values, values.length + 1);
        longer[values.length] = last;
        return longer;
    }

    /** Walks all dims but the last, and copies rows along that. */
    private static void boxes(
            Object from,
            long fromOffset,
            long[] fromStrides,
            Object to,
            long toOffset,
            long[] toStrides,
            long[] extents) {
        int rank = extents.length;
        if (rank == 0) {
            System.arraycopy(from, Math.toIntExact(fromOffset), to, Math.toIntExact(toOffset), 1);
            return;
        }
        int last = rank - 1;
        int count = Math.toIntExact(extents[last]);
        int fromStep = Math.toIntExact(fromStrides[last]);
        int toStep = Math.toIntExact(toStrides[last]);
        long[] index = new long[rank];
        long source = fromOffset;
        long target = toOffset;
        while (true) {
            row(from, (int) source, fromStep, to, (int) target, toStep, count);
            int d = last - 1;
            for (; d >= 0; d--) {
                source += fromStrides[d];
                target += toStrides[d];
                if (++index[d] < extents[d]) {
                    break;
                }
                source -= fromStrides[d] * extents[d];
                target -= toStrides[d] * extents[d];
                index[d] = 0;
            }
            if (d < 0) {
                return;
            }
        }
    }

    private static void row(Object from, int source, int fromStep, Object to, int target, int toStep, int count) {
        if (fromStep == 1 && toStep == 1) {
            System.arraycopy(from, source, to, target, count);
        } else if (from instanceof double[] a && to instanceof double[] b) {
            for (int i = 0; i < count; i++) {
                b[target + i * toStep] = a[source + i * fromStep];
            }
        } else if (from instanceof long[] a && to instanceof long[] b) {
            for (int i = 0; i < count; i++) {
                b[target + i * toStep] = a[source + i * fromStep];
            }
        } else {
            throw new IllegalArgumentException("The literals must be of one type.");
        }
    }
}
