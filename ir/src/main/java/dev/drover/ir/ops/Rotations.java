package dev.drover.ir.ops;

import java.util.Arrays;
import java.util.stream.IntStream;

/** Eigenvectors and singular vectors by Jacobi's rotations of pairs of columns: slow, and right to the last places. */
final class Rotations {
    private static final int MOST_SWEEPS = 60;
    private static final double EPSILON = 1e-16;

    private Rotations() {}

    /**
     * Replaces a symmetric matrix, of which one triangle is read, by its eigenvectors as columns; gives the eigenvalues, ascending. All are
     * NaN if an element is not finite.
     */
    static double[] eigen(double[][] a, boolean lower) {
        int n = a.length;
        for (int i = 0; i < n; i++) {
            for (int j = 0; j < i; j++) {
                double value = lower ? a[i][j] : a[j][i];
                a[i][j] = value;
                a[j][i] = value;
            }
        }
        double[] values = new double[n];
        double size = norm(a);
        if (!Double.isFinite(size)) {
            Arrays.fill(values, Double.NaN);
            return values;
        }
        double[][] vectors = identity(n);
        boolean rotated = true;
        for (int sweep = 0; rotated && sweep < MOST_SWEEPS; sweep++) {
            rotated = false;
            for (int p = 0; p < n; p++) {
                for (int q = p + 1; q < n; q++) {
                    if (Math.abs(a[p][q]) <= EPSILON * size) {
                        continue;
                    }
                    rotated = true;
                    double[] turn = turn(a[p][p], a[q][q], a[p][q]);
                    rotateColumns(a, p, q, turn);
                    rotateRows(a, p, q, turn);
                    rotateRows(vectors, p, q, turn);
                }
            }
        }
        double[][] found = vectors;
        int[] order = IntStream.range(0, n)
                .boxed()
                .sorted((x, y) -> Double.compare(a[x][x], a[y][y]))
                .mapToInt(Integer::intValue)
                .toArray();
        for (int k = 0; k < n; k++) {
            values[k] = a[order[k]][order[k]];
        }
        for (int k = 0; k < n; k++) {
            double sign = sign(found[order[k]]);
            for (int i = 0; i < n; i++) {
                a[i][k] = sign * found[order[k]][i];
            }
        }
        return values;
    }

    /**
     * Singular values, descending, and as many of the left vectors as {@code u} has columns, of the right ones as {@code vt} has rows. All
     * are NaN if an element is not finite.
     */
    static double[] singular(double[][] a, double[][] u, double[][] vt) {
        int m = a.length;
        int n = a[0].length;
        boolean tall = m >= n;
        int count = Math.min(m, n);
        // Rows of w are the columns of a, or of its transpose if that is the tall one; rotated until they are
        // orthogonal.
        double[][] w = tall ? transposed(a) : copy(a);
        double[][] turned = identity(count);
        double[] values = new double[count];
        double size = norm(w);
        if (!Double.isFinite(size)) {
            Arrays.fill(values, Double.NaN);
            return values;
        }
        boolean rotated = true;
        for (int sweep = 0; rotated && sweep < MOST_SWEEPS; sweep++) {
            rotated = false;
            for (int p = 0; p < count; p++) {
                for (int q = p + 1; q < count; q++) {
                    double pp = dot(w[p], w[p]);
                    double qq = dot(w[q], w[q]);
                    double pq = dot(w[p], w[q]);
                    if (Math.abs(pq) <= 8 * EPSILON * Math.sqrt(pp * qq)
                            || Math.sqrt(Math.min(pp, qq)) <= EPSILON * size) {
                        continue;
                    }
                    rotated = true;
                    double[] turn = turn(pp, qq, pq);
                    rotateRows(w, p, q, turn);
                    rotateRows(turned, p, q, turn);
                }
            }
        }
        double[] lengths = new double[count];
        for (int k = 0; k < count; k++) {
            lengths[k] = Math.sqrt(dot(w[k], w[k]));
        }
        int[] order = IntStream.range(0, count)
                .boxed()
                .sorted((x, y) -> Double.compare(lengths[y], lengths[x]))
                .mapToInt(Integer::intValue)
                .toArray();
        int longer = Math.max(m, n);
        double[][] left = new double[Math.max(count, tall ? u[0].length : vt.length)][longer];
        double[][] right = new double[Math.max(count, tall ? vt.length : u[0].length)][count];
        for (int k = 0; k < count; k++) {
            values[k] = lengths[order[k]];
            right[k] = turned[order[k]];
            if (values[k] > EPSILON * size) {
                for (int i = 0; i < longer; i++) {
                    left[k][i] = w[order[k]][i] / values[k];
                }
            } else {
                complete(left, k);
            }
        }
        for (int k = count; k < left.length; k++) {
            complete(left, k);
        }
        double[][] uRows = tall ? left : right;
        double[][] vRows = tall ? right : left;
        for (int k = 0; k < Math.max(u[0].length, vt.length); k++) {
            double sign = k < uRows.length ? sign(uRows[k]) : 1;
            for (int i = 0; k < u[0].length && i < m; i++) {
                u[i][k] = sign * uRows[k][i];
            }
            for (int i = 0; k < vt.length && i < n; i++) {
                vt[k][i] = (k < count ? sign : 1) * vRows[k][i];
            }
        }
        return values;
    }

    /** Cosine and sine of the turn after which {@code [[pp, pq], [pq, qq]]} is diagonal, by the smaller angle. */
    private static double[] turn(double pp, double qq, double pq) {
        double theta = (qq - pp) / (2 * pq);
        double t = Double.isInfinite(theta * theta)
                ? 1 / (2 * theta)
                : (theta >= 0 ? 1 : -1) / (Math.abs(theta) + Math.sqrt(theta * theta + 1));
        double c = 1 / Math.sqrt(t * t + 1);
        return new double[] {c, t * c};
    }

    private static void rotateRows(double[][] a, int p, int q, double[] turn) {
        for (int i = 0; i < a[p].length; i++) {
            double x = a[p][i];
            double y = a[q][i];
            a[p][i] = turn[0] * x - turn[1] * y;
            a[q][i] = turn[1] * x + turn[0] * y;
        }
    }

    private static void rotateColumns(double[][] a, int p, int q, double[] turn) {
        for (double[] row : a) {
            double x = row[p];
            double y = row[q];
            row[p] = turn[0] * x - turn[1] * y;
            row[q] = turn[1] * x + turn[0] * y;
        }
    }

    /** Makes row k a unit vector orthogonal to those before it: of the unit axes the one that is least among them. */
    private static void complete(double[][] rows, int k) {
        int width = rows[k].length;
        double bestLength = 0;
        double[] best = new double[width];
        for (int axis = 0; axis < width; axis++) {
            double[] candidate = new double[width];
            candidate[axis] = 1;
            for (int twice = 0; twice < 2; twice++) {
                for (int j = 0; j < k; j++) {
                    double along = dot(candidate, rows[j]);
                    for (int i = 0; i < width; i++) {
                        candidate[i] -= along * rows[j][i];
                    }
                }
            }
            double length = Math.sqrt(dot(candidate, candidate));
            if (length > bestLength) {
                bestLength = length;
                best = candidate;
            }
        }
        for (int i = 0; i < width; i++) {
            rows[k][i] = best[i] / bestLength;
        }
    }

    /** The sign of the element of largest magnitude, the first of equal ones. */
    private static double sign(double[] values) {
        double largest = 0;
        for (double value : values) {
            if (Math.abs(value) > Math.abs(largest) * (1 + 1e-6)) {
                largest = value;
            }
        }
        return largest < 0 ? -1 : 1;
    }

    private static double norm(double[][] rows) {
        double sum = 0;
        for (double[] row : rows) {
            sum += dot(row, row);
        }
        return Math.sqrt(sum);
    }

    private static double dot(double[] x, double[] y) {
        double sum = 0;
        for (int i = 0; i < x.length; i++) {
            sum += x[i] * y[i];
        }
        return sum;
    }

    private static double[][] identity(int n) {
        double[][] rows = new double[n][n];
        for (int i = 0; i < n; i++) {
            rows[i][i] = 1;
        }
        return rows;
    }

    private static double[][] copy(double[][] a) {
        return Arrays.stream(a).map(double[]::clone).toArray(double[][]::new);
    }

    private static double[][] transposed(double[][] a) {
        double[][] rows = new double[a[0].length][a.length];
        for (int i = 0; i < a.length; i++) {
            for (int j = 0; j < rows.length; j++) {
                rows[j][i] = a[i][j];
            }
        }
        return rows;
    }
}
