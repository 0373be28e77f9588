package dev.drover.ir.eval;

import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** Element values as bit patterns, and literals as little-endian bytes (safetensors, binary HLO, the wire). */
public final class Bits {
    private Bits() {}

    /** The bits of a value of a float type, in the low bits; the value must be exact in the type. */
    public static long ofDouble(DType dtype, double value) {
        return switch (dtype) {
            case F64 -> Double.doubleToRawLongBits(value);
            case F32 -> Float.floatToRawIntBits((float) value) & 0xffff_ffffL;
            case BF16 -> Float.floatToIntBits((float) value) >>> 16;
            case F16 -> small(value, 5, 10, false);
            case F8E5M2 -> small(value, 5, 2, false);
            case F8E4M3FN -> small(value, 4, 3, true);
            default -> throw new IllegalArgumentException("The type (" + dtype.hloName() + ") must be a float.");
        };
    }

    /** The value of a float type's bits. */
    public static double toDouble(DType dtype, long bits) {
        return switch (dtype) {
            case F64 -> Double.longBitsToDouble(bits);
            case F32 -> Float.intBitsToFloat((int) bits);
            case BF16 -> Float.intBitsToFloat((int) bits << 16);
            case F16 -> fromSmall((int) bits, 5, 10, false);
            case F8E5M2 -> fromSmall((int) bits, 5, 2, false);
            case F8E4M3FN -> fromSmall((int) bits, 4, 3, true);
            default -> throw new IllegalArgumentException("The type (" + dtype.hloName() + ") must be a float.");
        };
    }

    private static long small(double value, int exponentBits, int fractionBits, boolean finiteOnly) {
        int width = exponentBits + fractionBits;
        long sign = Double.doubleToRawLongBits(value) < 0 ? 1L << width : 0;
        long allOnes = ((1L << exponentBits) - 1) << fractionBits;
        if (Double.isNaN(value)) {
            return finiteOnly ? sign | ((1L << width) - 1) : sign | allOnes | 1L << (fractionBits - 1);
        }
        if (Double.isInfinite(value)) {
            return sign | allOnes;
        }
        double magnitude = Math.abs(value);
        if (magnitude == 0) {
            return sign;
        }
        int bias = (1 << (exponentBits - 1)) - 1;
        int exponent = Math.max(Math.getExponent(magnitude), 1 - bias);
        long units = (long) Math.scalb(magnitude, fractionBits - exponent);
        boolean normal = units >= 1L << fractionBits;
        return sign | (normal ? (long) (exponent + bias) << fractionBits | (units - (1L << fractionBits)) : units);
    }

    private static double fromSmall(int bits, int exponentBits, int fractionBits, boolean finiteOnly) {
        int width = exponentBits + fractionBits;
        double sign = (bits >>> width & 1) == 0 ? 1 : -1;
        int exponent = bits >>> fractionBits & (1 << exponentBits) - 1;
        int fraction = bits & (1 << fractionBits) - 1;
        int bias = (1 << (exponentBits - 1)) - 1;
        boolean largest = exponent == (1 << exponentBits) - 1;
        if (largest && finiteOnly && fraction == (1 << fractionBits) - 1) {
            return Double.NaN;
        }
        if (largest && !finiteOnly) {
            return fraction == 0 ? sign * Double.POSITIVE_INFINITY : Double.NaN;
        }
        return exponent == 0
                ? sign * Math.scalb((double) fraction, 1 - bias - fractionBits)
                : sign * Math.scalb((double) (fraction + (1 << fractionBits)), exponent - bias - fractionBits);
    }

    /** Appends a literal's elements, little-endian; pred as a byte. Types below a byte are refused. */
    public static void write(Literal literal, ByteBuffer out) {
        write(literal, 0, literal.size(), out);
    }

    /** Appends {@code count} of a literal's elements, from element {@code first} on. */
    public static void write(Literal literal, int first, int count, ByteBuffer out) {
        DType dtype = literal.dtype();
        ByteBuffer buffer = out.order(ByteOrder.LITTLE_ENDIAN);
        double[] doubles = literal.doubles();
        int each = dtype.isComplex() ? 2 : 1;
        int end = (first + count) * each;
        switch (dtype) {
            case F64 -> {
                for (int i = first; i < end; i++) {
                    buffer.putDouble(doubles[i]);
                }
            }
            case F32, C64 -> {
                for (int i = first * each; i < end; i++) {
                    buffer.putFloat((float) doubles[i]);
                }
            }
            case BF16, F16 -> {
                for (int i = first; i < end; i++) {
                    buffer.putShort((short) ofDouble(dtype, doubles[i]));
                }
            }
            case F8E5M2, F8E4M3FN -> {
                for (int i = first; i < end; i++) {
                    buffer.put((byte) ofDouble(dtype, doubles[i]));
                }
            }
            default -> {
                long[] longs = literal.longs();
                for (int i = first; i < end; i++) {
                    putLong(dtype, longs[i], buffer);
                }
            }
        }
    }

    /** Appends one element, given as a number; of a complex type its real or imaginary part. */
    public static void put(DType dtype, double value, ByteBuffer out) {
        switch (dtype) {
            case F64 -> out.putDouble(value);
            case F32, C64 -> out.putFloat((float) value);
            case BF16, F16 -> out.putShort((short) ofDouble(dtype, value));
            case F8E5M2, F8E4M3FN -> out.put((byte) ofDouble(dtype, value));
            default -> putLong(dtype, (long) value, out);
        }
    }

    private static void putLong(DType dtype, long value, ByteBuffer buffer) {
        switch (dtype.bits()) {
            case 8 -> buffer.put((byte) value);
            case 16 -> buffer.putShort((short) value);
            case 32 -> buffer.putInt((int) value);
            case 64 -> buffer.putLong(value);
            default -> throw tooSmall(dtype);
        }
    }

    /** Takes as many little-endian elements as the shape has. */
    public static Literal read(ArrayShape shape, ByteBuffer in) {
        Literal out = Literal.zeros(shape);
        read(in, out, 0, out.size());
        return out;
    }

    /** Takes {@code count} little-endian elements into a literal, from its element {@code first} on. */
    public static void read(ByteBuffer in, Literal into, int first, int count) {
        DType dtype = into.dtype();
        ByteBuffer buffer = in.order(ByteOrder.LITTLE_ENDIAN);
        if (dtype.isFloat() || dtype.isComplex()) {
            int each = dtype.isComplex() ? 2 : 1;
            double[] values = into.doubles();
            for (int i = first * each; i < (first + count) * each; i++) {
                values[i] = switch (dtype) {
                    case F64 -> buffer.getDouble();
                    case F32, C64 -> buffer.getFloat();
                    case BF16, F16 -> toDouble(dtype, buffer.getShort() & 0xffff);
                    default -> toDouble(dtype, buffer.get() & 0xff);
                };
            }
            return;
        }
        long[] values = into.longs();
        for (int i = first; i < first + count; i++) {
            long bits = switch (dtype.bits()) {
                case 8 -> buffer.get();
                case 16 -> buffer.getShort();
                case 32 -> buffer.getInt();
                case 64 -> buffer.getLong();
                default -> throw tooSmall(dtype);
            };
            values[i] = Rounding.wrap(dtype, bits);
        }
    }

    private static IllegalArgumentException tooSmall(DType dtype) {
        return new IllegalArgumentException("The type (" + dtype.hloName() + ") must take a byte at least.");
    }
}
