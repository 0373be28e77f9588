package dev.drover.ir.eval;

import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import java.util.Arrays;

/**
 * An array in as few bytes as its type needs, little-endian, row-major; types below a byte take a byte each. An array of equal
 * elements is one element. Immutable; equal if bitwise equal.
 */
public final class PackedLiteral {
    private final ArrayShape shape;
    private final byte[] bytes;

    private PackedLiteral(ArrayShape shape, byte[] bytes) {
        this.shape = shape;
        this.bytes = bytes;
    }

    private static int width(DType dtype) {
        return (dtype.bits() + 7) / 8;
    }

    /** Packs a literal's elements. */
    public static PackedLiteral pack(Literal literal) {
        DType dtype = literal.dtype();
        int width = width(dtype);
        int n = literal.size();
        byte[] bytes = new byte[Math.multiplyExact(n, width)];
        for (int i = 0; i < n; i++) {
            store(bytes, i * width, width, bits(literal, i));
        }
        return of(literal.shape(), bytes);
    }

    /** Takes bytes in the layout that this class has; not copied. */
    public static PackedLiteral of(ArrayShape shape, byte[] bytes) {
        int width = width(shape.dtype());
        if (bytes.length != shape.elements() * width) {
            throw new IllegalArgumentException("The bytes (" + bytes.length + ") must fit shape (" + shape + ").");
        }
        boolean splat =
                bytes.length > width && Arrays.equals(bytes, 0, bytes.length - width, bytes, width, bytes.length);
        return new PackedLiteral(shape, splat ? Arrays.copyOf(bytes, width) : bytes);
    }

    /** A scalar repeated. */
    public static PackedLiteral splat(ArrayShape shape, Literal scalar) {
        PackedLiteral one = pack(scalar);
        return new PackedLiteral(shape, shape.elements() == 0 ? new byte[0] : one.bytes);
    }

    private static long bits(Literal literal, int i) {
        DType dtype = literal.dtype();
        if (dtype.isComplex()) {
            return Bits.ofDouble(DType.F32, literal.doubles()[2 * i])
                    | Bits.ofDouble(DType.F32, literal.doubles()[2 * i + 1]) << 32;
        }
        return dtype.isFloat() ? Bits.ofDouble(dtype, literal.doubles()[i]) : literal.longs()[i];
    }

    private static void store(byte[] bytes, int at, int width, long bits) {
        for (int b = 0; b < width; b++) {
            bytes[at + b] = (byte) (bits >>> (8 * b));
        }
    }

    public ArrayShape shape() {
        return shape;
    }

    /** Whether all elements are equal (and there is at least one). */
    public boolean isSplat() {
        return shape.elements() > 0 && bytes.length == width(shape.dtype());
    }

    /** Bits of an element, zero-extended; c64 as the real part below the imaginary part. */
    public long bits(int index) {
        int width = width(shape.dtype());
        int at = isSplat() ? 0 : index * width;
        long bits = 0;
        for (int b = 0; b < width; b++) {
            bits |= (bytes[at + b] & 0xFFL) << (8 * b);
        }
        return bits;
    }

    /** The bytes of all elements, a copy. */
    public byte[] toBytes() {
        if (!isSplat()) {
            return bytes.clone();
        }
        byte[] all = new byte[Math.toIntExact(shape.elements() * bytes.length)];
        for (int i = 0; i < all.length; i++) {
            all[i] = bytes[i % bytes.length];
        }
        return all;
    }

    /** As many dims as given, of the same repeated element. */
    public PackedLiteral withDims(long... dims) {
        if (!isSplat()) {
            throw new IllegalStateException("The elements of " + shape + " must all be equal.");
        }
        ArrayShape other = shape.withDims(dims);
        return new PackedLiteral(other, other.elements() == 0 ? new byte[0] : bytes);
    }

    public Literal unpack() {
        Literal out = Literal.zeros(shape);
        DType dtype = shape.dtype();
        for (int i = 0; i < out.size(); i++) {
            long bits = bits(i);
            if (dtype.isComplex()) {
                out.doubles()[2 * i] = Bits.toDouble(DType.F32, bits & 0xFFFFFFFFL);
                out.doubles()[2 * i + 1] = Bits.toDouble(DType.F32, bits >>> 32);
            } else if (dtype.isFloat()) {
                out.doubles()[i] = Bits.toDouble(dtype, bits);
            } else {
                out.longs()[i] = Rounding.wrap(dtype, bits);
            }
        }
        return out;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof PackedLiteral that && shape.equals(that.shape) && Arrays.equals(bytes, that.bytes);
    }

    @Override
    public int hashCode() {
        return shape.hashCode() * 31 + Arrays.hashCode(bytes);
    }

    @Override
    public String toString() {
        return shape + (isSplat() ? " splat" : "");
    }
}
