package dev.drover.ir.ops;

import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.Shape;
import java.util.List;

/**
 * {@code L} with {@code L L^T = A} over the last two dims ({@code U} with {@code U^T U = A} if not {@code lower}); only that triangle of A
 * is read, and the other triangle of the result is zero. Where A is not positive definite, the result is NaN.
 */
public record Cholesky(boolean lower) implements Op {
    static final OpKind KIND = new OpKind("cholesky", source -> new Cholesky(source.flag("lower", false)));

    @Override
    public String opcode() {
        return "cholesky";
    }

    @Override
    public void print(OpWriter writer) {
        if (lower) {
            writer.attribute("lower", "true");
        }
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        Check.count(this, operands, 1);
        ArrayShape a = Check.array(this, operands, 0);
        Check.that(
                a.rank() >= 2
                        && a.dim(a.rank() - 1) == a.dim(a.rank() - 2)
                        && a.dtype().isFloat(),
                "The operand (%s) of cholesky must be of square real matrices.",
                a);
        return a;
    }

    /** Matrices are worked on one by one: the dims before them may be cut. */
    @Override
    public FactorRule factors(List<Shape> operands, Shape result) {
        return FactorRule.batched(operands, result, result.asArray().rank() - 2);
    }

    @Override
    public long flops(List<Shape> operands, Shape result) {
        ArrayShape a = operands.get(0).asArray();
        return a.elements() * a.dim(a.rank() - 1) / 3;
    }

    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        Literal a = operands.get(0).literal();
        int n = (int) a.shape().dim(a.shape().rank() - 1);
        double[] out = new double[a.size()];
        for (int base = 0; base < out.length; base += n * n) {
            for (int i = 0; i < n; i++) {
                for (int j = 0; j <= i; j++) {
                    double sum = a.doubles()[base + (lower ? i * n + j : j * n + i)];
                    for (int k = 0; k < j; k++) {
                        sum -= out[at(base, i, k, n)] * out[at(base, j, k, n)];
                    }
                    out[at(base, i, j, n)] = i == j ? Math.sqrt(sum) : sum / out[at(base, j, j, n)];
                }
            }
        }
        return Literal.ofDoubles(a.shape(), out);
    }

    private int at(int base, int row, int column, int n) {
        return base + (lower ? row * n + column : column * n + row);
    }
}
