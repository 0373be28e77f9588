package dev.drover.ir.init;

import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Rounding;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;

/**
 * Makes initial values. The value of an element depends only on the seed, the input's key, its distribution and the element's row-major index in the whole input: a part is bit-equal to the same part of the whole, on every machine (only exactly specified arithmetic is used: IEEE basic operations, square root, {@link StrictMath#log}).
 *
 * <p>Element {@code i} takes word {@code i % 4} of the Philox block with counter {@code (i / 4, key)} under the seed.
 */
public final class InitialValues {
    private static final double TWO_POW_32 = 4294967296.0;

    private InitialValues() {}

    /** Where values go, by row-major position in the part. */
    @FunctionalInterface
    public interface Sink {
        void put(long position, double value);
    }

    /** The whole input. */
    public static Literal fill(InitialValue spec, long seed) {
        return fill(spec, seed, Slice.whole(spec.shape()));
    }

    /** A part of the input. */
    public static Literal fill(InitialValue spec, long seed, Slice slice) {
        ArrayShape shape = slice.of(spec.shape());
        int n = Math.toIntExact(shape.elements());
        if (shape.dtype().isFloat()) {
            double[] values = new double[n];
            fill(spec, seed, slice, (position, value) -> values[(int) position] = value);
            return Literal.ofDoubles(shape, values);
        }
        long[] values = new long[n];
        fill(spec, seed, slice, (position, value) -> values[(int) position] = (long) value);
        return Literal.ofLongs(shape, values);
    }

    /** A part of the input, element by element, rounded to the input's type; for storage other than a literal. */
    public static void fill(InitialValue spec, long seed, Slice slice, Sink sink) {
        ArrayShape part = slice.of(spec.shape());
        long n = part.elements();
        if (n == 0) {
            return;
        }
        if (spec.distribution() instanceof Distribution.Constant constant) {
            double value = round(spec.shape().dtype(), constant.value());
            for (long i = 0; i < n; i++) {
                sink.put(i, value);
            }
            return;
        }
        int rank = part.rank();
        long[] strides = spec.shape().strides();
        Words words = new Words(spec, seed);
        long rowLength = rank == 0 ? 1 : part.dim(rank - 1);
        long[] at = new long[rank];
        for (long row = 0; row < n; row += rowLength) {
            long base = 0;
            for (int i = 0; i < rank - 1; i++) {
                base += slice.dims().get(i).index(at[i]) * strides[i];
            }
            for (long i = 0; i < rowLength; i++) {
                sink.put(
                        row + i,
                        words.value(
                                rank == 0
                                        ? 0
                                        : base + slice.dims().get(rank - 1).index(i)));
            }
            for (int i = rank - 2; i >= 0 && ++at[i] == part.dim(i); i--) {
                at[i] = 0;
            }
        }
    }

    private static double round(DType dtype, double value) {
        return dtype.isFloat() ? Rounding.round(dtype, value) : Rounding.wrap(dtype, (long) value);
    }

    /** Keeps the last block, as neighbours share it. */
    private static final class Words {
        private final InitialValue spec;
        private final long seed;
        private final int[] block = new int[4];
        private long blockIndex = -1;

        Words(InitialValue spec, long seed) {
            this.spec = spec;
            this.seed = seed;
        }

        double value(long element) {
            if (element >> 2 != blockIndex) {
                blockIndex = element >> 2;
                Philox.block(seed, blockIndex, spec.key(), block);
            }
            long word = block[(int) (element & 3)] & 0xFFFFFFFFL;
            double unit = (word + 0.5) / TWO_POW_32;
            Distribution distribution = spec.distribution();
            double value;
            if (distribution instanceof Distribution.Normal normal) {
                value = NormalQuantile.of(unit) * normal.std();
            } else if (distribution instanceof Distribution.Uniform uniform) {
                value = uniform.low() + (uniform.high() - uniform.low()) * unit;
            } else if (distribution instanceof Distribution.Integers integers) {
                value = integers.low() + Math.floor((integers.high() - integers.low()) * (word / TWO_POW_32));
            } else {
                throw new IllegalStateException("The distribution (" + distribution + ") must be known.");
            }
            return round(spec.shape().dtype(), value);
        }
    }
}
