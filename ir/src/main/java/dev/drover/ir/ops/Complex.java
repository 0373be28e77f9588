package dev.drover.ir.ops;

/** Functions of complex numbers, on principal branches; results are written as {@code {re, im}}. */
final class Complex {
    private Complex() {}

    static void set(double[] z, double re, double im) {
        z[0] = re;
        z[1] = im;
    }

    static void exp(double re, double im, double[] z) {
        double size = Math.exp(re);
        set(z, size * Math.cos(im), im == 0 ? im : size * Math.sin(im));
    }

    static void log(double re, double im, double[] z) {
        set(z, Math.log(Math.hypot(re, im)), Math.atan2(im, re));
    }

    static void sqrt(double re, double im, double[] z) {
        double size = Math.hypot(re, im);
        set(z, Math.sqrt(Math.max(0, (size + re) / 2)), Math.copySign(Math.sqrt(Math.max(0, (size - re) / 2)), im));
    }

    static void rsqrt(double re, double im, double[] z) {
        sqrt(re, im, z);
        divide(1, 0, z[0], z[1], z);
    }

    /** {@code x / |x|}, 0 at 0. */
    static void sign(double re, double im, double[] z) {
        double size = Math.hypot(re, im);
        set(z, size == 0 ? 0 : re / size, size == 0 ? 0 : im / size);
    }

    static void tanh(double re, double im, double[] z) {
        if (Math.abs(re) > 20) {
            set(z, Math.signum(re), 0);
            return;
        }
        double below = Math.cosh(2 * re) + Math.cos(2 * im);
        set(z, Math.sinh(2 * re) / below, Math.sin(2 * im) / below);
    }

    static void multiply(double a, double b, double c, double d, double[] z) {
        set(z, a * c - b * d, a * d + b * c);
    }

    static void divide(double a, double b, double c, double d, double[] z) {
        double below = c * c + d * d;
        set(z, (a * c + b * d) / below, (b * c - a * d) / below);
    }

    /** {@code exp(y log x)}; 0 to any power but 0 is 0. */
    static void power(double a, double b, double c, double d, double[] z) {
        if (a == 0 && b == 0) {
            set(z, c == 0 && d == 0 ? 1 : 0, 0);
            return;
        }
        log(a, b, z);
        multiply(z[0], z[1], c, d, z);
        exp(z[0], z[1], z);
    }
}
