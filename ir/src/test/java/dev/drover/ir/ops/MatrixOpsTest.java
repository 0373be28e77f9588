package dev.drover.ir.ops;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.drover.ir.eval.Literal;
import dev.drover.ir.type.DType;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class MatrixOpsTest {
    private final Random random = new Random(13);

    private Literal f64(long... dims) {
        return Apply.f64(random, dims);
    }

    /** {@code [n, n]} of batch b, a triangle kept or the whole transposed. */
    private static double[][] matrix(Literal a, int batch, boolean keepLower, boolean keepUpper, boolean transposed) {
        int n = (int) a.shape().dim(2);
        double[][] out = new double[n][n];
        for (int i = 0; i < n; i++) {
            for (int j = 0; j < n; j++) {
                boolean kept = i == j || (i > j ? keepLower : keepUpper);
                out[transposed ? j : i][transposed ? i : j] = kept ? a.asDouble((batch * n + i) * n + j) : 0;
            }
        }
        return out;
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void choleskyFactorsMultiplyToTheMatrix(boolean lower) {
        Literal root = f64(2, 3, 3);
        // a = root root^T + 5: symmetric and positive definite
        Dot product = new Dot(List.of(0), List.of(0), List.of(2), List.of(2), DType.F64);
        Literal a = Folds.copy(Apply.literal(product, root, root));
        for (int b = 0; b < 2; b++) {
            for (int i = 0; i < 3; i++) {
                a.doubles()[(b * 3 + i) * 3 + i] += 5;
            }
        }
        Literal expected = Folds.copy(a);
        for (int b = 0; b < 2; b++) {
            a.doubles()[b * 9 + (lower ? 1 : 3)] = 1e9; // in the triangle that must not be read
        }
        Literal factor = Apply.literal(new Cholesky(lower), a);
        Dot square = new Dot(List.of(0), List.of(0), List.of(lower ? 2 : 1), List.of(lower ? 2 : 1), DType.F64);
        Literal again = Apply.literal(square, factor, factor);
        for (int i = 0; i < again.size(); i++) {
            assertThat(again.asDouble(i)).isEqualTo(expected.asDouble(i), within(1e-12));
        }
        assertThat(factor.asDouble(lower ? 1 : 3)).isZero();
    }

    @ParameterizedTest
    @CsvSource({
        "true, true, false, NO_TRANSPOSE",
        "true, false, false, NO_TRANSPOSE",
        "true, true, true, TRANSPOSE",
        "true, false, false, TRANSPOSE",
        "false, true, false, NO_TRANSPOSE",
        "false, false, true, NO_TRANSPOSE",
        "false, true, false, TRANSPOSE",
        "false, false, false, ADJOINT",
    })
    void triangularSolutionsFit(boolean leftSide, boolean lower, boolean unitDiagonal, String transpose) {
        Literal a = Folds.copy(f64(2, 3, 3));
        for (int b = 0; b < 2; b++) {
            for (int i = 0; i < 3; i++) {
                a.doubles()[(b * 3 + i) * 3 + i] += 4;
            }
        }
        Literal b = leftSide ? f64(2, 3, 4) : f64(2, 4, 3);
        Literal x = Apply.literal(new TriangularSolve(leftSide, lower, unitDiagonal, transpose), a, b);
        for (int batch = 0; batch < 2; batch++) {
            double[][] m = matrix(a, batch, lower, !lower, !transpose.equals("NO_TRANSPOSE"));
            for (int i = 0; unitDiagonal && i < 3; i++) {
                m[i][i] = 1;
            }
            int rows = (int) b.shape().dim(1);
            int columns = (int) b.shape().dim(2);
            for (int r = 0; r < rows; r++) {
                for (int c = 0; c < columns; c++) {
                    double sum = 0;
                    for (int k = 0; k < 3; k++) {
                        sum += leftSide
                                ? m[r][k] * x.asDouble((batch * rows + k) * columns + c)
                                : x.asDouble((batch * rows + r) * columns + k) * m[k][c];
                    }
                    assertThat(sum).isEqualTo(b.asDouble((batch * rows + r) * columns + c), within(1e-12));
                }
            }
        }
    }
}
