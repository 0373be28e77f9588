package dev.drover.ir.ops;

import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.ir.type.Shape;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The routines of LAPACK that JAX calls on CPUs, {@code lapack_} type routine {@code _ffi}, over the last two dims of batches of real matrices;
 * computed in doubles. Characters of their own interface are given as numbers, as in {@code uplo = 76 : ui8} for {@code L}.
 *
 * <pre>
 *   potrf  a [n, n]              -> l (its triangle of a replaced), info (a minor that is not positive, from 1; or 0)
 *   trsm   a [n, n], b           -> x with op(a) x = b or x op(a) = b
 *   getrf  a [m, n]              -> l and u in one, pivots (rows from 1), info (a pivot that is 0, from 1; or 0)
 *   geqrf  a [m, n]              -> r above, Householder vectors below, tau
 *   orgqr  a [m, n], tau         -> q, of the first columns of the product of the reflections
 *   syevd  a [n, n]              -> eigenvectors as columns, eigenvalues ascending, info
 *   gesdd  a [m, n]              -> a (of no meaning), singular values descending, u, v transposed, info
 * </pre>
 *
 * The signs of eigenvectors and singular vectors are free: here the element of largest magnitude is positive, of u's columns for gesdd.
 */
enum Lapack {
    POTRF(3),
    TRSM(1),
    GETRF(1.5),
    GEQRF(0.75),
    ORGQR(0.75),
    SYEVD(0.1),
    GESDD(0.05);

    private static final Pattern TARGET = Pattern.compile("lapack_[sd]([a-z]+)_ffi");
    private static final Pattern ENTRY = Pattern.compile("(\\w+) = (\\d+) : ui8");

    private final double flopsDivisor;

    Lapack(double flopsDivisor) {
        this.flopsDivisor = flopsDivisor;
    }

    /** The routine that a custom call's target names, or null. */
    static @Nullable Lapack of(String target) {
        Matcher matcher = TARGET.matcher(target);
        if (matcher.matches()) {
            for (Lapack routine : values()) {
                if (routine.name().toLowerCase(java.util.Locale.ROOT).equals(matcher.group(1))) {
                    return routine;
                }
            }
        }
        return null;
    }

    /** Whether operands and results are the real arrays of matrices that the routine has. */
    boolean fits(List<Shape> operands, Shape result) {
        int inputs = this == TRSM || this == ORGQR ? 2 : 1;
        int outputs = switch (this) {
            case TRSM, ORGQR -> 1;
            case POTRF, GEQRF -> 2;
            case GETRF, SYEVD -> 3;
            case GESDD -> 5;
        };
        if (operands.size() != inputs
                || result.leaves().size() != outputs
                || !(operands.get(0) instanceof ArrayShape a)
                || a.rank() < 2
                || !(a.dtype() == DType.F32 || a.dtype() == DType.F64)) {
            return false;
        }
        int batch = a.rank() - 2;
        List<ArrayShape> leaves = new ArrayList<>(result.leaves());
        operands.forEach(operand -> leaves.addAll(operand.leaves()));
        for (ArrayShape leaf : leaves) {
            if (leaf.rank() < batch) {
                return false;
            }
            for (int d = 0; d < batch; d++) {
                if (leaf.dim(d) != a.dim(d)) {
                    return false;
                }
            }
        }
        boolean square = a.dim(batch) == a.dim(batch + 1);
        return square || !(this == POTRF || this == TRSM || this == SYEVD);
    }

    /** Of the usual methods, to the order of magnitude. */
    long flops(List<Shape> operands) {
        ArrayShape a = operands.get(0).asArray();
        long least = Math.min(a.dim(a.rank() - 1), a.dim(a.rank() - 2));
        long elements = this == TRSM ? operands.get(1).asArray().elements() : a.elements();
        return (long) (elements * (double) least / flopsDivisor);
    }

    private static boolean is(Map<String, String> attributes, String name, char wanted) {
        Matcher entries = ENTRY.matcher(attributes.getOrDefault("backend_config", ""));
        while (entries.find()) {
            if (entries.group(1).equals(name)) {
                return Integer.parseInt(entries.group(2)) == wanted;
            }
        }
        return false;
    }

    /** The value of a call whose shapes {@link #fits fit}. */
    Value evaluate(Map<String, String> attributes, Shape result, List<Literal> operands) {
        boolean lower = is(attributes, "uplo", 'L');
        if (this == TRSM) {
            String transpose = is(attributes, "trans_x", 'N') ? "NO_TRANSPOSE" : "TRANSPOSE";
            TriangularSolve solve =
                    new TriangularSolve(is(attributes, "side", 'L'), lower, is(attributes, "diag", 'U'), transpose);
            return solve.solve(operands.get(0), operands.get(1));
        }
        List<ArrayShape> leaves = result.leaves();
        double[][] out = new double[leaves.size()][];
        for (int i = 0; i < out.length; i++) {
            out[i] = new double[(int) leaves.get(i).elements()];
        }
        ArrayShape a = operands.get(0).shape();
        int m = (int) a.dim(a.rank() - 2);
        int n = (int) a.dim(a.rank() - 1);
        int batches = m * n == 0 ? 0 : operands.get(0).size() / (m * n);
        for (int batch = 0; batch < batches; batch++) {
            double[][] matrix = rows(operands.get(0).doubles(), batch, m, n);
            double[][] one = new double[out.length][];
            switch (this) {
                case POTRF -> one[1] = new double[] {Factorizations.cholesky(matrix, lower)};
                case GETRF -> {
                    one[1] = new double[Math.min(m, n)];
                    one[2] = new double[] {Factorizations.lu(matrix, one[1])};
                }
                case GEQRF -> {
                    one[1] = new double[Math.min(m, n)];
                    Factorizations.qr(matrix, one[1]);
                }
                case ORGQR -> {
                    int k = operands.get(1).size() / batches;
                    double[] tau = new double[k];
                    System.arraycopy(operands.get(1).doubles(), batch * k, tau, 0, k);
                    Factorizations.reflections(matrix, tau);
                }
                case SYEVD -> {
                    one[1] = Rotations.eigen(matrix, lower);
                    one[2] = new double[] {Double.isNaN(one[1][0]) ? 1 : 0};
                }
                default -> {
                    int columns = (int) leaves.get(2).dim(leaves.get(2).rank() - 1);
                    int rows = (int) leaves.get(3).dim(leaves.get(3).rank() - 2);
                    double[][] u = new double[m][columns];
                    double[][] vt = new double[rows][n];
                    one[1] = Rotations.singular(matrix, u, vt);
                    one[2] = flat(u);
                    one[3] = flat(vt);
                    one[4] = new double[] {one[1].length > 0 && Double.isNaN(one[1][0]) ? 1 : 0};
                }
            }
            one[0] = flat(matrix);
            for (int i = 0; i < out.length; i++) {
                System.arraycopy(one[i], 0, out[i], batch * one[i].length, one[i].length);
            }
        }
        List<Value> values = new ArrayList<>();
        for (int i = 0; i < out.length; i++) {
            values.add(literal(leaves.get(i), out[i]));
        }
        return result instanceof ArrayShape ? values.get(0) : new Value.Tuple(values);
    }

    private static Literal literal(ArrayShape shape, double[] values) {
        if (shape.dtype().isFloat()) {
            return Literal.ofDoubles(shape, values);
        }
        long[] longs = new long[values.length];
        for (int i = 0; i < longs.length; i++) {
            longs[i] = (long) values[i];
        }
        return Literal.ofLongs(shape, longs);
    }

    private static double[][] rows(double[] values, int batch, int m, int n) {
        double[][] rows = new double[m][n];
        for (int i = 0; i < m; i++) {
            System.arraycopy(values, (batch * m + i) * n, rows[i], 0, n);
        }
        return rows;
    }

    private static double[] flat(double[][] rows) {
        int n = rows.length == 0 ? 0 : rows[0].length;
        double[] values = new double[rows.length * n];
        for (int i = 0; i < rows.length; i++) {
            System.arraycopy(rows[i], 0, values, i * n, n);
        }
        return values;
    }
}
