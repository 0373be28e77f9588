package dev.drover.ir.ops;

import dev.drover.ir.eval.Bits;
import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Rounding;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.ir.type.Shape;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The same bits as another type. To a narrower type a last dim is added (low bits first), to a wider one the last dim, of as many
 * elements as make one, goes away.
 */
public record BitcastConvert(DType to) implements Op {
    static final OpKind KIND = new OpKind(
            "bitcast-convert",
            source -> new BitcastConvert(source.shape().asArray().dtype()));

    @Override
    public String opcode() {
        return "bitcast-convert";
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        ArrayShape operand = Check.onlyArray(this, operands);
        DType from = operand.dtype();
        Check.that(
                !from.isComplex() && !to.isComplex() && (from == DType.PRED) == (to == DType.PRED),
                "The types (%s to %s) of bitcast-convert must be real numbers.",
                from.hloName(),
                to.hloName());
        if (from.bits() == to.bits()) {
            return operand.withDType(to);
        }
        if (from.bits() > to.bits()) {
            long[] dims = Arrays.copyOf(operand.dims(), operand.rank() + 1);
            dims[operand.rank()] = from.bits() / to.bits();
            return ArrayShape.of(to, dims);
        }
        Check.that(
                operand.rank() > 0 && operand.dim(operand.rank() - 1) == to.bits() / from.bits(),
                "The last dim of the operand (%s) of bitcast-convert to %s must be %s.",
                operand,
                to.hloName(),
                to.bits() / from.bits());
        return ArrayShape.of(to, Arrays.copyOf(operand.dims(), operand.rank() - 1));
    }

    @Override
    public FactorRule factors(List<Shape> operands, Shape result) {
        ArrayShape operand = operands.get(0).asArray();
        int shared = Math.min(operand.rank(), result.asArray().rank());
        FactorRule.Builder rule = new FactorRule.Builder();
        List<List<Integer>> dims = rule.freeDims(ArrayShape.of(to, Arrays.copyOf(operand.dims(), shared)));
        return rule.operand(withLast(rule, dims, operand))
                .result(withLast(rule, dims, result.asArray()))
                .build();
    }

    private static List<List<Integer>> withLast(FactorRule.Builder rule, List<List<Integer>> dims, ArrayShape shape) {
        List<List<Integer>> all = new ArrayList<>(dims);
        if (shape.rank() > dims.size()) {
            all.add(List.of(rule.factor(shape.dim(shape.rank() - 1), Factor.Kind.WHOLE)));
        }
        return all;
    }

    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        Literal x = operands.get(0).literal();
        Literal out = Literal.zeros(self.array());
        int fromBits = x.dtype().bits();
        int toBits = to.bits();
        if (fromBits >= toBits) {
            int parts = fromBits / toBits;
            for (int i = 0; i < x.size(); i++) {
                long bits = bits(x, i);
                for (int p = 0; p < parts; p++) {
                    put(out, i * parts + p, bits >>> (p * toBits));
                }
            }
        } else {
            int parts = toBits / fromBits;
            for (int i = 0; i < out.size(); i++) {
                long bits = 0;
                for (int p = 0; p < parts; p++) {
                    bits |= bits(x, i * parts + p) << (p * fromBits);
                }
                put(out, i, bits);
            }
        }
        return out;
    }

    private static long bits(Literal x, int index) {
        return x.dtype().isFloat()
                ? Bits.ofDouble(x.dtype(), x.doubles()[index])
                : Elementwise.bits(x.dtype(), x.longs()[index]);
    }

    private void put(Literal out, int index, long bits) {
        if (to.isFloat()) {
            out.doubles()[index] = Bits.toDouble(to, Elementwise.bits(to, bits));
        } else {
            out.longs()[index] = Rounding.wrap(to, bits);
        }
    }

    @Override
    public List<@Nullable Instruction> vjp(
            VjpContext context, Instruction self, List<@Nullable Instruction> cotangents) {
        return Collections.singletonList(null);
    }
}
