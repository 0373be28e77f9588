package dev.drover.ir.eval;

import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import java.util.Arrays;

/**
 * A dense array in row-major order. Floats are held as doubles that are exactly representable in the element type; integers and
 * pred as longs (sign- or zero-extended, so that u64 alone may look negative); c64 as pairs of doubles. Correct before fast: the
 * reference evaluator's storage. Owners may write to the arrays only before they hand the literal on.
 */
public final class Literal implements Value {
    private static final double[] NO_DOUBLES = {};
    private static final long[] NO_LONGS = {};

    private final ArrayShape shape;
    private final double[] doubles;
    private final long[] longs;

    private Literal(ArrayShape shape, double[] doubles, long[] longs) {
        this.shape = shape;
        this.doubles = doubles;
        this.longs = longs;
    }

    /** Zeros. */
    public static Literal zeros(ArrayShape shape) {
        int n = Math.toIntExact(shape.elements());
        return switch (shape.dtype().family()) {
            case FLOAT -> new Literal(shape, new double[n], NO_LONGS);
            case COMPLEX -> new Literal(shape, new double[2 * n], NO_LONGS);
            default -> new Literal(shape, NO_DOUBLES, new long[n]);
        };
    }

    /** Wraps values of a float or complex type; not copied, and rounded in place to the type. */
    public static Literal ofDoubles(ArrayShape shape, double[] values) {
        int width = shape.dtype().isComplex() ? 2 : 1;
        if (!(shape.dtype().isFloat() || shape.dtype().isComplex()) || values.length != shape.elements() * width) {
            throw new IllegalArgumentException("The values (" + values.length + ") must fit shape (" + shape + ").");
        }
        Rounding.round(shape.dtype(), values);
        return new Literal(shape, values, NO_LONGS);
    }

    /** Wraps values of an integer type or pred; not copied, and wrapped in place to the type's width. */
    public static Literal ofLongs(ArrayShape shape, long[] values) {
        DType dtype = shape.dtype();
        if (dtype.isFloat() || dtype.isComplex() || values.length != shape.elements()) {
            throw new IllegalArgumentException("The values (" + values.length + ") must fit shape (" + shape + ").");
        }
        Rounding.wrap(dtype, values);
        return new Literal(shape, NO_DOUBLES, values);
    }

    /** A scalar of any real type. */
    public static Literal scalar(DType dtype, double value) {
        ArrayShape shape = ArrayShape.scalar(dtype);
        if (dtype.isComplex()) {
            return ofDoubles(shape, new double[] {value, 0});
        }
        return dtype.isFloat() ? ofDoubles(shape, new double[] {value}) : ofLongs(shape, new long[] {(long) value});
    }

    public ArrayShape shape() {
        return shape;
    }

    public DType dtype() {
        return shape.dtype();
    }

    public int size() {
        return Math.toIntExact(shape.elements());
    }

    /** The storage of a float or complex literal (not a copy). */
    public double[] doubles() {
        return doubles;
    }

    /** The storage of an integer or pred literal (not a copy). */
    public long[] longs() {
        return longs;
    }

    /** Element as a double (the real part of a complex one; unsigned 64-bit integers are read as unsigned). */
    public double asDouble(int index) {
        if (dtype().isFloat()) {
            return doubles[index];
        }
        if (dtype().isComplex()) {
            return doubles[2 * index];
        }
        long value = longs[index];
        return dtype() == DType.U64 && value < 0 ? (double) (value >>> 1) * 2.0 + (value & 1) : (double) value;
    }

    /** Element as a long; floats are truncated. */
    public long asLong(int index) {
        return dtype().isFloat() || dtype().isComplex() ? (long) asDouble(index) : longs[index];
    }

    /** The same elements under another shape of the same type and count. */
    public Literal withShape(ArrayShape other) {
        if (other.dtype() != dtype() || other.elements() != shape.elements()) {
            throw new IllegalArgumentException("The shape (" + other + ") must hold the elements of " + shape + ".");
        }
        return new Literal(other, doubles, longs);
    }

    /** Copies element {@code from} of {@code source} to {@code to} of this literal; both must be of one type. */
    public void copyElement(Literal source, int from, int to) {
        if (dtype().isFloat()) {
            doubles[to] = source.doubles[from];
        } else if (dtype().isComplex()) {
            doubles[2 * to] = source.doubles[2 * from];
            doubles[2 * to + 1] = source.doubles[2 * from + 1];
        } else {
            longs[to] = source.longs[from];
        }
    }

    /** Bitwise equality, NaN equal to NaN. */
    @Override
    public boolean equals(Object other) {
        return other instanceof Literal that
                && shape.equals(that.shape)
                && Arrays.equals(doubles, that.doubles)
                && Arrays.equals(longs, that.longs);
    }

    @Override
    public int hashCode() {
        return shape.hashCode() * 31 * 31 + Arrays.hashCode(doubles) * 31 + Arrays.hashCode(longs);
    }

    @Override
    public String toString() {
        return size() > 16
                ? shape.toString()
                : shape + " " + (longs.length > 0 ? Arrays.toString(longs) : Arrays.toString(doubles));
    }
}
