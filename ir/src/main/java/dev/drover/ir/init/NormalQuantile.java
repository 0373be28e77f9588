package dev.drover.ir.init;

/**
 * The inverse of the standard normal distribution function, by P. J. Acklam's rational approximations (relative error below 1.2e-9). Chosen over Box and Muller's method because one word makes one number and nearly all of them need basic arithmetic only, the same on every machine.
 */
final class NormalQuantile {
    private static final double TAIL = 0.02425;

    private NormalQuantile() {}

    /** The value below which a standard normal number falls with probability {@code p}, in (0, 1). */
    static double of(double p) {
        if (p < TAIL) {
            return tail(Math.sqrt(-2 * StrictMath.log(p)));
        }
        if (p > 1 - TAIL) {
            return -tail(Math.sqrt(-2 * StrictMath.log(1 - p)));
        }
        double q = p - 0.5;
        double r = q * q;
        double numerator = -3.969683028665376e+01;
        numerator = numerator * r + 2.209460984245205e+02;
        numerator = numerator * r - 2.759285104469687e+02;
        numerator = numerator * r + 1.383577518672690e+02;
        numerator = numerator * r - 3.066479806614716e+01;
        numerator = numerator * r + 2.506628277459239e+00;
        double denominator = -5.447609879822406e+01;
        denominator = denominator * r + 1.615858368580409e+02;
        denominator = denominator * r - 1.556989798598866e+02;
        denominator = denominator * r + 6.680131188771972e+01;
        denominator = denominator * r - 1.328068155288572e+01;
        denominator = denominator * r + 1;
        return numerator * q / denominator;
    }

    private static double tail(double q) {
        double numerator = -7.784894002430293e-03;
        numerator = numerator * q - 3.223964580411365e-01;
        numerator = numerator * q - 2.400758277161838e+00;
        numerator = numerator * q - 2.549732539343734e+00;
        numerator = numerator * q + 4.374664141464968e+00;
        numerator = numerator * q + 2.938163982698783e+00;
        double denominator = 7.784695709041462e-03;
        denominator = denominator * q + 3.224671290700398e-01;
        denominator = denominator * q + 2.445134137142996e+00;
        denominator = denominator * q + 3.754408661907416e+00;
        denominator = denominator * q + 1;
        return numerator / denominator;
    }
}
