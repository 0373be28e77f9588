package dev.drover.ir.ops;

import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.Shape;
import java.util.List;

/**
 * {@code x} with {@code op(a) x = b} (left side) or {@code x op(a) = b}, over the last two dims of {@code a [.., n, n]} and {@code b}.
 *
 * @param transposeA {@code NO_TRANSPOSE}, {@code TRANSPOSE} or {@code ADJOINT}
 */
public record TriangularSolve(boolean leftSide, boolean lower, boolean unitDiagonal, String transposeA) implements Op {
    static final OpKind KIND = new OpKind(
            "triangular-solve",
            source -> new TriangularSolve(
                    source.flag("left_side", false),
                    source.flag("lower", false),
                    source.flag("unit_diagonal", false),
                    source.has("transpose_a") ? source.need("transpose_a") : "NO_TRANSPOSE"));

    @Override
    public String opcode() {
        return "triangular-solve";
    }

    @Override
    public void print(OpWriter writer) {
        if (leftSide) {
            writer.attribute("left_side", "true");
        }
        if (lower) {
            writer.attribute("lower", "true");
        }
        if (unitDiagonal) {
            writer.attribute("unit_diagonal", "true");
        }
        writer.attribute("transpose_a", transposeA);
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        Check.count(this, operands, 2);
        ArrayShape a = Check.array(this, operands, 0);
        ArrayShape b = Check.array(this, operands, 1);
        boolean fits = a.rank() >= 2
                && a.rank() == b.rank()
                && a.dtype() == b.dtype()
                && a.dtype().isFloat()
                && a.dim(a.rank() - 1) == a.dim(a.rank() - 2)
                && b.dim(b.rank() - (leftSide ? 2 : 1)) == a.dim(a.rank() - 1);
        for (int d = 0; fits && d < a.rank() - 2; d++) {
            fits = a.dim(d) == b.dim(d);
        }
        Check.that(fits, "The operands (%s and %s) of triangular-solve must be real matrices that fit.", a, b);
        return b;
    }

    /** Matrices are worked on one by one: the dims before them may be cut. */
    @Override
    public FactorRule factors(List<Shape> operands, Shape result) {
        return FactorRule.batched(operands, result, result.asArray().rank() - 2);
    }

    @Override
    public long flops(List<Shape> operands, Shape result) {
        ArrayShape a = operands.get(0).asArray();
        return result.asArray().elements() * a.dim(a.rank() - 1);
    }

    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        return solve(operands.get(0).literal(), operands.get(1).literal());
    }

    /** The x of {@code a} and {@code b}. */
    Literal solve(Literal triangles, Literal b) {
        double[] a = triangles.doubles();
        ArrayShape shape = b.shape();
        ArrayShape aShape = triangles.shape();
        int n = (int) aShape.dim(aShape.rank() - 1);
        int rows = (int) shape.dim(shape.rank() - 2);
        int columns = (int) shape.dim(shape.rank() - 1);
        double[] x = b.doubles().clone();
        boolean transposed = !transposeA.equals("NO_TRANSPOSE");
        // m(i, j): the matrix of m x = b, for each column of b (left side) or each row of it (right side, transposed
        // once more)
        boolean flip = transposed == leftSide;
        boolean isLower = lower != flip;
        int count = leftSide ? columns : rows;
        int matrices = rows * columns == 0 ? 0 : x.length / (rows * columns);
        for (int matrix = 0; matrix < matrices; matrix++) {
            for (int c = 0; c < count; c++) {
                int base = matrix * rows * columns + (leftSide ? c : c * columns);
                int step = leftSide ? columns : 1;
                for (int t = 0; t < n; t++) {
                    int i = isLower ? t : n - 1 - t;
                    double sum = x[base + i * step];
                    for (int s = 0; s < t; s++) {
                        int j = isLower ? s : n - 1 - s;
                        sum -= a[matrix * n * n + (flip ? j * n + i : i * n + j)] * x[base + j * step];
                    }
                    x[base + i * step] = unitDiagonal ? sum : sum / a[matrix * n * n + i * n + i];
                }
            }
        }
        return Literal.ofDoubles(shape, x);
    }
}
