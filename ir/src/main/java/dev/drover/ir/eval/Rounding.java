package dev.drover.ir.eval;

import dev.drover.ir.type.DType;

/** Rounds doubles and longs to element types, to nearest even as IEEE 754 says. */
public final class Rounding {
    private Rounding() {}

    /** Rounds in place to a float type (c64: both parts to f32). */
    public static void round(DType dtype, double[] values) {
        if (dtype == DType.F64) {
            return;
        }
        for (int i = 0; i < values.length; i++) {
            values[i] = round(dtype, values[i]);
        }
    }

    /** The nearest value of a float type. */
    public static double round(DType dtype, double value) {
        return switch (dtype) {
            case F64 -> value;
            case F32, C64 -> (float) value;
            case BF16 -> roundTo(value, 8, -126, 127, false);
            case F16 -> roundTo(value, 11, -14, 15, false);
            case F8E5M2 -> roundTo(value, 3, -14, 15, false);
            case F8E4M3FN -> roundTo(value, 4, -6, 8, true);
            default -> throw new IllegalArgumentException("The type (" + dtype.hloName() + ") must be a float.");
        };
    }

    /**
     * The nearest value of an IEEE float with {@code precision} significand bits, the hidden one counted, exponents up to {@code
     * maxExponent} and from {@code 1 - maxExponent}, and infinities.
     */
    public static double roundTo(double value, int precision, int maxExponent) {
        return roundTo(value, precision, Math.max(1 - maxExponent, Double.MIN_EXPONENT), maxExponent, false);
    }

    /**
     * @param precision significand bits with the hidden one
     * @param minExponent of the smallest normal number
     * @param maxExponent of the largest finite number
     * @param finiteOnly no infinities, and the largest significand means NaN (the "fn" types): beyond the largest is NaN
     */
    private static double roundTo(double value, int precision, int minExponent, int maxExponent, boolean finiteOnly) {
        if (Double.isNaN(value) || value == 0) {
            return value;
        }
        if (Double.isInfinite(value)) {
            return finiteOnly ? Double.NaN : value;
        }
        int exponent = Math.max(Math.getExponent(value), minExponent);
        double unit = Math.scalb(1.0, exponent - (precision - 1));
        double rounded = Math.rint(value / unit) * unit;
        double largest = finiteOnly
                ? Math.scalb(2.0 - Math.scalb(1.0, 2 - precision), maxExponent)
                : Math.scalb(2.0 - Math.scalb(1.0, 1 - precision), maxExponent);
        if (Math.abs(rounded) > largest) {
            return finiteOnly ? Double.NaN : Math.copySign(Double.POSITIVE_INFINITY, value);
        }
        return rounded == 0 ? Math.copySign(0.0, value) : rounded;
    }

    /** Wraps in place to an integer type's width; pred to 0 or 1. */
    public static void wrap(DType dtype, long[] values) {
        if (dtype.bits() == 64) {
            return;
        }
        for (int i = 0; i < values.length; i++) {
            values[i] = wrap(dtype, values[i]);
        }
    }

    /** The value modulo the type's width, sign- or zero-extended. */
    public static long wrap(DType dtype, long value) {
        if (dtype == DType.PRED) {
            return value == 0 ? 0 : 1;
        }
        if (dtype.bits() == 64) {
            return value;
        }
        int shift = 64 - dtype.bits();
        return dtype.family() == DType.Family.SIGNED ? value << shift >> shift : value << shift >>> shift;
    }
}
