package dev.drover.ir.ops;

/**
 * The discrete Fourier transform of one line of complex numbers, {@code y[k] = sum over n of x[n] exp(sign 2 pi i n k / size)}, without a
 * factor. Powers of two by halving (Cooley and Tukey), other sizes as a convolution (Bluestein), both in O(size log size). Numbers
 * lie in pairs, real part first.
 */
final class FourierLine {
    private final int size;
    /** {@code cos, sin} of {@code 2 pi j / span} in pairs, for j below half the span. */
    private final double[] roots;

    private final double sign;
    /** For sizes that are no power of two: {@code exp(sign pi i n^2 / size)}, and the transform of its conjugate, laid around. */
    private final double[] chirp;

    private final double[] around;

    /**
     * @param inverse whether the sign of the exponent is positive
     */
    FourierLine(int size, boolean inverse) {
        this.size = size;
        this.sign = inverse ? 1 : -1;
        boolean power = Integer.bitCount(size) == 1;
        int span = power || size == 0 ? size : Integer.highestOneBit(2 * size - 1) * 2;
        roots = new double[span];
        for (int j = 0; j < span / 2; j++) {
            roots[2 * j] = Math.cos(2 * Math.PI * j / span);
            roots[2 * j + 1] = Math.sin(2 * Math.PI * j / span);
        }
        chirp = new double[power ? 0 : 2 * size];
        around = new double[power ? 0 : 2 * span];
        for (int n = 0; n < chirp.length / 2; n++) {
            // n^2 modulo the period of 2 size, so that the angle stays exact.
            double angle = sign * Math.PI * ((long) n * n % (2L * size)) / size;
            chirp[2 * n] = Math.cos(angle);
            chirp[2 * n + 1] = Math.sin(angle);
            for (int at : new int[] {n, (span - n) % span}) {
                around[2 * at] = chirp[2 * n];
                around[2 * at + 1] = -chirp[2 * n + 1];
            }
        }
        halve(around, -1);
    }

    /** Transforms a line of {@code 2 size} numbers in place. */
    void transform(double[] line) {
        if (chirp.length == 0) {
            halve(line, sign);
            return;
        }
        // n k = (n^2 + k^2 - (k - n)^2) / 2: a product with the chirp, a convolution with its conjugate, a product
        // again.
        double[] wide = new double[around.length];
        multiply(line, chirp, wide, size);
        halve(wide, -1);
        multiply(wide, around, wide, around.length / 2);
        halve(wide, 1);
        multiply(wide, chirp, line, size);
        for (int i = 0; i < line.length; i++) {
            line[i] = 2 * line[i] / around.length;
        }
    }

    private static void multiply(double[] x, double[] y, double[] out, int count) {
        for (int i = 0; i < 2 * count; i += 2) {
            double re = x[i] * y[i] - x[i + 1] * y[i + 1];
            out[i + 1] = x[i] * y[i + 1] + x[i + 1] * y[i];
            out[i] = re;
        }
    }

    /** A transform of a power of two, in place: elements in bit-reversed order, then sums and differences of ever longer halves. */
    private void halve(double[] line, double direction) {
        int span = line.length / 2;
        for (int i = 1, j = 0; i < span; i++) {
            int bit = span >> 1;
            for (; (j & bit) != 0; bit >>= 1) {
                j ^= bit;
            }
            j ^= bit;
            if (i < j) {
                swap(line, 2 * i, 2 * j);
                swap(line, 2 * i + 1, 2 * j + 1);
            }
        }
        for (int half = 1; half < span; half *= 2) {
            int step = span / (2 * half);
            for (int start = 0; start < span; start += 2 * half) {
                for (int k = 0; k < half; k++) {
                    double c = roots[2 * k * step];
                    double s = direction * roots[2 * k * step + 1];
                    int a = 2 * (start + k);
                    int b = a + 2 * half;
                    double re = line[b] * c - line[b + 1] * s;
                    double im = line[b] * s + line[b + 1] * c;
                    line[b] = line[a] - re;
                    line[b + 1] = line[a + 1] - im;
                    line[a] += re;
                    line[a + 1] += im;
                }
            }
        }
    }

    private static void swap(double[] line, int i, int j) {
        double kept = line[i];
        line[i] = line[j];
        line[j] = kept;
    }
}
