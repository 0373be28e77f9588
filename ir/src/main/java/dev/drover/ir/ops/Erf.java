package dev.drover.ir.ops;

/**
 * The error function to double precision: the series with positive terms (Abramowitz and Stegun 7.1.6) near zero, the continued
 * fraction of the complement (7.1.14) beyond.
 */
final class Erf {
    private static final double SPLIT = 2.5;

    private Erf() {}

    static double erf(double x) {
        double size = Math.abs(x);
        if (Double.isNaN(x) || size == 0) {
            return x;
        }
        double value = size < SPLIT ? series(size) : 1 - complement(size);
        return Math.copySign(value, x);
    }

    /** {@code 2/sqrt(pi) exp(-x^2) sum_n 2^n x^(2n+1) / (1 3 5 .. (2n+1))}. */
    private static double series(double x) {
        double term = x;
        double sum = x;
        for (int n = 1; term > sum * 1e-17; n++) {
            term *= 2 * x * x / (2 * n + 1);
            sum += term;
        }
        return 2 / Math.sqrt(Math.PI) * Math.exp(-x * x) * sum;
    }

    /** {@code exp(-x^2)/sqrt(pi) / (x + (1/2)/(x + (2/2)/(x + (3/2)/(x + ..))))}. */
    private static double complement(double x) {
        if (x > 27) {
            return 0;
        }
        double fraction = x;
        for (int n = 60; n >= 1; n--) {
            fraction = x + n / 2.0 / fraction;
        }
        return Math.exp(-x * x) / Math.sqrt(Math.PI) / fraction;
    }
}
