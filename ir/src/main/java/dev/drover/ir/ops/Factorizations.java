package dev.drover.ir.ops;

/** Factors of a matrix, in place, with the pivots and signs that LAPACK has. */
final class Factorizations {
    private Factorizations() {}

    /** Replaces a triangle by its Cholesky factor; gives the order of the first minor that is not positive, or 0. */
    static int cholesky(double[][] a, boolean lower) {
        int n = a.length;
        for (int j = 0; j < n; j++) {
            for (int i = j; i < n; i++) {
                double sum = lower ? a[i][j] : a[j][i];
                for (int k = 0; k < j; k++) {
                    sum -= lower ? a[i][k] * a[j][k] : a[k][i] * a[k][j];
                }
                if (i == j && !(sum > 0)) {
                    return j + 1;
                }
                double pivot = i == j ? Math.sqrt(sum) : a[j][j];
                double value = i == j ? pivot : sum / pivot;
                if (lower) {
                    a[i][j] = value;
                } else {
                    a[j][i] = value;
                }
            }
        }
        return 0;
    }

    /** Replaces by L (below, its diagonal of ones left out) and U, rows exchanged; gives the first pivot that is 0, from 1, or 0. */
    static int lu(double[][] a, double[] pivots) {
        int info = 0;
        for (int k = 0; k < pivots.length; k++) {
            int best = k;
            for (int i = k + 1; i < a.length; i++) {
                if (Math.abs(a[i][k]) > Math.abs(a[best][k])) {
                    best = i;
                }
            }
            pivots[k] = best + 1;
            double[] row = a[best];
            a[best] = a[k];
            a[k] = row;
            if (row[k] == 0) {
                info = info == 0 ? k + 1 : info;
                continue;
            }
            for (int i = k + 1; i < a.length; i++) {
                double factor = a[i][k] / row[k];
                a[i][k] = factor;
                for (int j = k + 1; j < row.length; j++) {
                    a[i][j] -= factor * row[j];
                }
            }
        }
        return info;
    }

    /** Replaces by R and, below it, the vectors v (their first element of 1 left out) of the reflections {@code 1 - tau v v^T}. */
    static void qr(double[][] a, double[] tau) {
        for (int k = 0; k < tau.length; k++) {
            double below = 0;
            for (int i = k + 1; i < a.length; i++) {
                below = Math.hypot(below, a[i][k]);
            }
            double alpha = a[k][k];
            if (below == 0) {
                tau[k] = 0;
                continue;
            }
            double beta = -Math.copySign(Math.hypot(alpha, below), alpha);
            tau[k] = (beta - alpha) / beta;
            for (int i = k + 1; i < a.length; i++) {
                a[i][k] /= alpha - beta;
            }
            double[] v = vector(a, k);
            for (int j = k + 1; j < a[k].length; j++) {
                reflect(a, v, tau[k], k, j);
            }
            a[k][k] = beta;
        }
    }

    /** Replaces the vectors of reflections by the first columns of their product. */
    static void reflections(double[][] a, double[] tau) {
        int n = a[0].length;
        for (int j = tau.length; j < n; j++) {
            for (int i = 0; i < a.length; i++) {
                a[i][j] = i == j ? 1 : 0;
            }
        }
        for (int k = tau.length - 1; k >= 0; k--) {
            double[] v = vector(a, k);
            for (int i = 0; i < a.length; i++) {
                a[i][k] = i == k ? 1 : 0;
            }
            for (int j = k; j < n; j++) {
                reflect(a, v, tau[k], k, j);
            }
        }
    }

    private static double[] vector(double[][] a, int k) {
        double[] v = new double[a.length];
        v[k] = 1;
        for (int i = k + 1; i < v.length; i++) {
            v[i] = a[i][k];
        }
        return v;
    }

    private static void reflect(double[][] a, double[] v, double tau, int from, int column) {
        double sum = 0;
        for (int i = from; i < v.length; i++) {
            sum += v[i] * a[i][column];
        }
        for (int i = from; i < v.length; i++) {
            a[i][column] -= tau * sum * v[i];
        }
    }
}
