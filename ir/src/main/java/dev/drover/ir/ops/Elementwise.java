package dev.drover.ir.ops;

import dev.drover.ir.eval.Literal;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.ir.type.Shape;
import java.util.List;
import java.util.function.DoubleBinaryOperator;
import java.util.function.DoubleUnaryOperator;

/** What elementwise ops share: one free factor for each dim, and loops over all elements. */
final class Elementwise {
    private Elementwise() {}

    /** {@code (a b, a b) -> a b}; operands may be scalars. */
    static FactorRule factors(List<Shape> operands, Shape result) {
        FactorRule.Builder rule = new FactorRule.Builder();
        List<List<Integer>> dims = rule.freeDims(result.asArray());
        for (Shape operand : operands) {
            rule.operand(operand.asArray().rank() == 0 ? List.of() : dims);
        }
        return rule.result(dims).build();
    }

    /** The bits of an integer of a type, zero-extended. */
    static long bits(DType dtype, long x) {
        return dtype.bits() == 64 ? x : x & ((1L << dtype.bits()) - 1);
    }

    static Literal unary(UnaryKind kind, Literal x, ArrayShape result) {
        int n = x.size();
        switch (x.dtype().family()) {
            case FLOAT -> {
                double[] in = x.doubles();
                DoubleUnaryOperator f = kind.real();
                if (!result.dtype().isFloat()) {
                    long[] out = new long[n];
                    for (int i = 0; i < n; i++) {
                        out[i] = (long) f.applyAsDouble(in[i]);
                    }
                    return Literal.ofLongs(result, out);
                }
                double[] out = new double[n];
                for (int i = 0; i < n; i++) {
                    out[i] = f.applyAsDouble(in[i]);
                }
                return Literal.ofDoubles(result, out);
            }
            case COMPLEX -> {
                double[] in = x.doubles();
                UnaryKind.ComplexFunction f = kind.complex();
                int width = result.dtype().isComplex() ? 2 : 1;
                double[] out = new double[n * width];
                double[] z = new double[2];
                for (int i = 0; i < n; i++) {
                    f.apply(in[2 * i], in[2 * i + 1], z);
                    System.arraycopy(z, 0, out, i * width, width);
                }
                return Literal.ofDoubles(result, out);
            }
            default -> {
                long[] in = x.longs();
                UnaryKind.LongFunction f = kind.whole();
                long[] out = new long[n];
                for (int i = 0; i < n; i++) {
                    out[i] = f.apply(x.dtype(), in[i]);
                }
                return Literal.ofLongs(result, out);
            }
        }
    }

    static Literal binary(BinaryKind kind, Literal x, Literal y, ArrayShape result) {
        int n = x.size();
        if (kind == BinaryKind.COMPLEX) {
            double[] out = new double[2 * n];
            for (int i = 0; i < n; i++) {
                out[2 * i] = x.doubles()[i];
                out[2 * i + 1] = y.doubles()[i];
            }
            return Literal.ofDoubles(result, out);
        }
        switch (x.dtype().family()) {
            case FLOAT -> {
                double[] a = x.doubles();
                double[] b = y.doubles();
                DoubleBinaryOperator f = kind.real();
                double[] out = new double[n];
                for (int i = 0; i < n; i++) {
                    out[i] = f.applyAsDouble(a[i], b[i]);
                }
                return Literal.ofDoubles(result, out);
            }
            case COMPLEX -> {
                double[] a = x.doubles();
                double[] b = y.doubles();
                BinaryKind.ComplexFunction f = kind.complex();
                double[] out = new double[2 * n];
                double[] z = new double[2];
                for (int i = 0; i < n; i++) {
                    f.apply(a[2 * i], a[2 * i + 1], b[2 * i], b[2 * i + 1], z);
                    out[2 * i] = z[0];
                    out[2 * i + 1] = z[1];
                }
                return Literal.ofDoubles(result, out);
            }
            default -> {
                long[] a = x.longs();
                long[] b = y.longs();
                BinaryKind.LongFunction f = kind.whole();
                long[] out = new long[n];
                for (int i = 0; i < n; i++) {
                    out[i] = f.apply(x.dtype(), a[i], b[i]);
                }
                return Literal.ofLongs(result, out);
            }
        }
    }
}
