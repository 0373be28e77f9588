package dev.drover.ir.ops;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.text.HloReader;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Routines of LAPACK as custom calls: factors multiply to the matrix, and vectors are orthogonal. */
final class LapackTest {
    private final Random random = new Random(3);

    private static Value call(String result, String target, String config, Literal... operands) {
        StringBuilder text = new StringBuilder();
        StringBuilder names = new StringBuilder();
        for (int i = 0; i < operands.length; i++) {
            text.append("p" + i + " = " + operands[i].shape() + " parameter(" + i + "); ");
            names.append(i == 0 ? "" : ", ").append("p").append(i);
        }
        text.append("r = " + result + " custom-call(" + names + "), custom_call_target=\"lapack_" + target
                + "_ffi\", api_version=API_VERSION_TYPED_FFI, backend_config={" + config + "}");
        Computation computation =
                HloReader.read("test", Snippet.module(text.toString())).entry();
        return dev.drover.ir.eval.Evaluator.evaluate(computation, List.of(operands));
    }

    private Literal matrix(long m, long n) {
        return RandomValues.literal(ArrayShape.of(DType.F64, m, n), random);
    }

    private static double[][] rows(Literal literal) {
        int m = (int) literal.shape().dim(0);
        int n = (int) literal.shape().dim(1);
        double[][] rows = new double[m][n];
        for (int i = 0; i < m * n; i++) {
            rows[i / n][i % n] = literal.asDouble(i);
        }
        return rows;
    }

    private static double[][] product(double[][] a, double[][] b) {
        double[][] out = new double[a.length][b[0].length];
        for (int i = 0; i < a.length; i++) {
            for (int j = 0; j < b[0].length; j++) {
                for (int k = 0; k < b.length; k++) {
                    out[i][j] += a[i][k] * b[k][j];
                }
            }
        }
        return out;
    }

    private static double[][] transposed(double[][] a) {
        double[][] out = new double[a[0].length][a.length];
        for (int i = 0; i < a.length; i++) {
            for (int j = 0; j < a[0].length; j++) {
                out[j][i] = a[i][j];
            }
        }
        return out;
    }

    private static void assertClose(double[][] actual, double[][] expected) {
        assertThat(actual.length).isEqualTo(expected.length);
        for (int i = 0; i < expected.length; i++) {
            assertThat(actual[i]).containsExactly(expected[i], within(1e-10));
        }
    }

    private static double[][] identity(int n) {
        double[][] out = new double[n][n];
        for (int i = 0; i < n; i++) {
            out[i][i] = 1;
        }
        return out;
    }

    /** The first {@code k} rows, from the diagonal on. */
    private static double[][] upper(double[][] a, int k) {
        double[][] out = new double[k][a[0].length];
        for (int i = 0; i < k; i++) {
            System.arraycopy(a[i], i, out[i], i, out[i].length - i);
        }
        return out;
    }

    /** The first {@code k} columns, below the diagonal. */
    private static double[][] below(double[][] a, int k) {
        double[][] out = new double[a.length][k];
        for (int i = 0; i < a.length; i++) {
            System.arraycopy(a[i], 0, out[i], 0, Math.min(i, k));
        }
        return out;
    }

    @ParameterizedTest
    @CsvSource({"4, 4", "5, 3", "3, 5"})
    void qr(int m, int n) {
        Literal a = matrix(m, n);
        int k = Math.min(m, n);
        Value factors = call("(f64[" + m + "," + n + "], f64[" + k + "])", "dgeqrf", "", a);
        double[][] r = rows(Apply.element(factors, 0));
        double[][] upper = upper(r, k);
        double[][] vectors = below(r, k);
        double[] flat = new double[m * k];
        for (int i = 0; i < flat.length; i++) {
            flat[i] = vectors[i / k][i % k];
        }
        Literal given = Literal.ofDoubles(ArrayShape.of(DType.F64, m, k), flat);
        double[][] q = rows(call("f64[" + m + "," + k + "]", "dorgqr", "", given, Apply.element(factors, 1))
                .literal());
        assertClose(product(transposed(q), q), identity(k));
        assertClose(product(q, upper), rows(a));
        // LAPACK's sign: a column's leading element turns to the other side.
        assertThat(Math.signum(upper[0][0])).isEqualTo(-Math.signum(a.asDouble(0)));
    }

    @ParameterizedTest
    @CsvSource({"4, 4", "5, 3", "3, 5"})
    void lu(int m, int n) {
        Literal a = matrix(m, n);
        int k = Math.min(m, n);
        Value factors = call("(f64[" + m + "," + n + "], s32[" + k + "], s32[])", "dgetrf", "", a);
        double[][] both = rows(Apply.element(factors, 0));
        double[][] u = upper(both, k);
        double[][] l = below(both, k);
        for (double[] row : l) {
            for (double factor : row) {
                assertThat(Math.abs(factor)).isLessThanOrEqualTo(1);
            }
        }
        for (int i = 0; i < k; i++) {
            l[i][i] = 1;
        }
        double[][] expected = rows(a);
        for (int i = 0; i < k; i++) {
            int with = (int) Apply.element(factors, 1).longs()[i] - 1;
            double[] row = expected[i];
            expected[i] = expected[with];
            expected[with] = row;
        }
        assertClose(product(l, u), expected);
        assertThat(Apply.element(factors, 2).longs()).containsExactly(0);
    }

    @ParameterizedTest
    @ValueSource(chars = {'L', 'U'})
    void eigenvectors(char triangle) {
        double[][] root = rows(matrix(6, 6));
        double[][] a = product(root, transposed(root));
        double[] given = new double[36];
        for (int i = 0; i < 36; i++) {
            boolean read = triangle == 'L' ? i / 6 >= i % 6 : i / 6 <= i % 6;
            given[i] = read ? a[i / 6][i % 6] : 1e9;
        }
        Value found = call(
                "(f64[6,6], f64[6], s32[])",
                "dsyevd",
                "mode = 86 : ui8, uplo = " + (int) triangle + " : ui8",
                Literal.ofDoubles(ArrayShape.of(DType.F64, 6, 6), given));
        double[][] v = rows(Apply.element(found, 0));
        double[] values = Apply.element(found, 1).doubles();
        assertThat(values).isSorted();
        double[][] diagonal = identity(6);
        for (int i = 0; i < 6; i++) {
            diagonal[i][i] = values[i];
        }
        assertClose(product(transposed(v), v), identity(6));
        assertClose(product(product(v, diagonal), transposed(v)), a);
    }

    @ParameterizedTest
    @CsvSource({"5, 5, 83", "6, 3, 83", "3, 6, 83", "6, 3, 65", "3, 6, 65"})
    void singularVectors(int m, int n, int mode) {
        Literal a = matrix(m, n);
        int k = Math.min(m, n);
        int columns = mode == 65 ? m : k;
        int right = mode == 65 ? n : k;
        Value found = call(
                "(f64[" + m + "," + n + "], f64[" + k + "], f64[" + m + "," + columns + "], f64[" + right + "," + n
                        + "], s32[])",
                "dgesdd",
                "mode = " + mode + " : ui8",
                a);
        double[][] u = rows(Apply.element(found, 2));
        double[][] vt = rows(Apply.element(found, 3));
        double[][] s = new double[columns][right];
        for (int i = 0; i < k; i++) {
            s[i][i] = Apply.element(found, 1).doubles()[i];
            assertThat(s[i][i]).isLessThanOrEqualTo(i == 0 ? Double.MAX_VALUE : s[i - 1][i - 1]);
        }
        assertClose(product(transposed(u), u), identity(columns));
        assertClose(product(vt, transposed(vt)), identity(right));
        assertClose(product(product(u, s), vt), rows(a));
    }

    /** Of rank one: the vectors of singular values that are 0 are orthogonal all the same. */
    @Test
    void singularVectorsOfAFlatMatrix() {
        Literal ones = Literal.ofDoubles(ArrayShape.of(DType.F64, 3, 3), new double[] {1, 1, 1, 1, 1, 1, 1, 1, 1});
        Value found = call("(f64[3,3], f64[3], f64[3,3], f64[3,3], s32[])", "dgesdd", "mode = 83 : ui8", ones);
        double[][] u = rows(Apply.element(found, 2));
        assertClose(product(transposed(u), u), identity(3));
        assertThat(Apply.element(found, 1).doubles()).containsExactly(new double[] {3, 0, 0}, within(1e-10));
    }

    @Test
    void choleskyKeepsTheOtherTriangleAndTellsOfMatricesThatAreNotPositive() {
        Literal a = Literal.ofDoubles(ArrayShape.of(DType.F32, 2, 2, 2), new double[] {4, 9, 2, 5, 1, 9, 2, 1});
        Value found = call("(f32[2,2,2], s32[2])", "spotrf", "uplo = 76 : ui8", a);
        assertThat(Apply.element(found, 1).longs()).containsExactly(0, 2);
        double[] l = Apply.element(found, 0).doubles();
        assertThat(new double[] {l[0], l[1], l[2], l[3]}).containsExactly(2, 9, 1, 2);
    }

    @Test
    void triangularSolve() {
        Literal a = Literal.ofDoubles(ArrayShape.of(DType.F32, 2, 2), new double[] {2, 9, 1, 4});
        Literal b = Literal.ofDoubles(ArrayShape.of(DType.F32, 2, 1), new double[] {2, 9});
        String config = "diag = 78 : ui8, side = 76 : ui8, trans_x = %d : ui8, uplo = 76 : ui8";
        assertThat(call("f32[2,1]", "strsm", config.formatted(78), a, b)
                        .literal()
                        .doubles())
                .containsExactly(1, 2);
        assertThat(call("f32[2,1]", "strsm", config.formatted(84), a, b)
                        .literal()
                        .doubles())
                .containsExactly(-0.125, 2.25);
    }

    @Test
    void batchesMayBeCut() {
        LocalizeChecks.checkAll(
                Snippet.module(
                        "x = f32[4,3,3] parameter(0); b = f32[4,3,2] parameter(1);"
                                + "q = (f32[4,3,3], f32[4,3]) custom-call(x), custom_call_target=\"lapack_sgeqrf_ffi\";"
                                + "y = f32[4,3,2] triangular-solve(x, b), left_side=true, lower=true, transpose_a=NO_TRANSPOSE"),
                4);
        Computation computation = HloReader.read(
                        "test",
                        Snippet.module(
                                "x = f32[4,3,3] parameter(0);"
                                        + "q = (f32[4,3,3], f32[4,3]) custom-call(x), custom_call_target=\"lapack_sgeqrf_ffi\""))
                .entry();
        assertThat(computation
                        .root()
                        .op()
                        .factors(
                                computation.root().operandShapes(),
                                computation.root().shape())
                        .toString())
                .startsWith("(a b c) -> a d e, a f;");
    }
}
