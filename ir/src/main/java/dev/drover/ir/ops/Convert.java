package dev.drover.ir.ops;

import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.ir.type.Shape;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Each element as another type: floats round to nearest even, to integers toward zero, saturating, NaN becoming 0; integers
 * wrap; pred is whether an element is not 0; of complex numbers the real part is taken.
 */
public record Convert(DType to) implements Op {
    static final OpKind KIND =
            new OpKind("convert", source -> new Convert(source.shape().asArray().dtype()));

    @Override
    public String opcode() {
        return "convert";
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        return Check.onlyArray(this, operands).withDType(to);
    }

    @Override
    public FactorRule factors(List<Shape> operands, Shape result) {
        return Elementwise.factors(operands, result);
    }

    /** A sum may be converted part by part if nothing is cut off or wrapped: to floats. */
    @Override
    public List<Set<Integer>> linearGroups() {
        return to.isFloat() || to.isComplex() ? List.of(Set.of(0)) : List.of();
    }

    @Override
    public long flops(List<Shape> operands, Shape result) {
        return result.asArray().elements();
    }

    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        return convert(operands.get(0).literal(), to);
    }

    /** The literal's elements as another type. */
    public static Literal convert(Literal x, DType to) {
        if (x.dtype() == to) {
            return x;
        }
        ArrayShape shape = x.shape().withDType(to);
        int n = x.size();
        boolean fromFloat = x.dtype().isFloat() || x.dtype().isComplex();
        if (to.isFloat()) {
            double[] out = new double[n];
            for (int i = 0; i < n; i++) {
                // A long goes to f32 in one rounding.
                out[i] = !fromFloat && to == DType.F32 && x.dtype() != DType.U64 ? (float) x.longs()[i] : x.asDouble(i);
            }
            return Literal.ofDoubles(shape, out);
        }
        if (to.isComplex()) {
            double[] out = new double[2 * n];
            for (int i = 0; i < n; i++) {
                out[2 * i] = x.asDouble(i);
            }
            return Literal.ofDoubles(shape, out);
        }
        long[] out = new long[n];
        for (int i = 0; i < n; i++) {
            out[i] = fromFloat ? toLong(x.asDouble(i), to) : x.longs()[i];
        }
        return Literal.ofLongs(shape, out);
    }

    private static long toLong(double value, DType to) {
        if (to == DType.PRED) {
            return value != 0 ? 1 : 0;
        }
        if (to == DType.U64 && value >= 0x1p63) {
            return value >= 0x1p64 ? -1 : ((long) (value / 2)) << 1;
        }
        long whole = (long) value;
        boolean signed = to.family() == DType.Family.SIGNED;
        long least = signed ? Long.MIN_VALUE >> (64 - to.bits()) : 0;
        long most = signed || to.bits() == 64 ? Long.MAX_VALUE >> (64 - to.bits()) : (1L << to.bits()) - 1;
        return Math.max(least, Math.min(most, whole));
    }

    @Override
    public List<@Nullable Instruction> vjp(
            VjpContext context, Instruction self, List<@Nullable Instruction> cotangents) {
        Instruction cotangent = cotangents.get(0);
        DType from = self.operand(0).array().dtype();
        if ((to.isComplex() && from.isFloat()) || (from.isComplex() && to.isFloat())) {
            throw new NoGradientException("The types (" + from.hloName() + " and " + to.hloName() + ") of convert ("
                    + self.name() + ") must be both real or both complex for a gradient.");
        }
        boolean smooth = from.family() == to.family() && (to.isFloat() || to.isComplex());
        return Collections.singletonList(
                cotangent == null || !smooth ? null : context.build().convert(cotangent, from));
    }
}
