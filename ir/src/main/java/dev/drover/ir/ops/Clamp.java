package dev.drover.ir.ops;

import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.ir.type.Shape;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** {@code min(max(low[i], x[i]), high[i])}; the bounds may be scalars. Operands are low, x, high. */
public record Clamp() implements Op {
    static final OpKind KIND = new OpKind("clamp", source -> new Clamp());

    @Override
    public String opcode() {
        return "clamp";
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        Check.count(this, operands, 3);
        ArrayShape x = Check.array(this, operands, 1);
        Check.that(!x.dtype().isComplex(), "The operand 1 (%s) of clamp must not be complex.", x);
        for (int i = 0; i <= 2; i += 2) {
            ArrayShape bound = Check.array(this, operands, i);
            Check.that(
                    bound.equals(x) || bound.equals(ArrayShape.scalar(x.dtype())),
                    "The operand %s (%s) of clamp must be %s or a scalar of that type.",
                    i,
                    bound,
                    x);
        }
        return x;
    }

    @Override
    public FactorRule factors(List<Shape> operands, Shape result) {
        return Elementwise.factors(operands, result);
    }

    @Override
    public long flops(List<Shape> operands, Shape result) {
        return result.asArray().elements();
    }

    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        Literal low = operands.get(0).literal();
        Literal x = operands.get(1).literal();
        Literal high = operands.get(2).literal();
        int lowStep = low.shape().rank() == 0 ? 0 : 1;
        int highStep = high.shape().rank() == 0 ? 0 : 1;
        int n = x.size();
        if (x.dtype().isFloat()) {
            double[] out = new double[n];
            for (int i = 0; i < n; i++) {
                out[i] = Math.min(Math.max(low.doubles()[i * lowStep], x.doubles()[i]), high.doubles()[i * highStep]);
            }
            return Literal.ofDoubles(self.array(), out);
        }
        DType dtype = x.dtype();
        long[] out = new long[n];
        for (int i = 0; i < n; i++) {
            long value = x.longs()[i];
            long least = low.longs()[i * lowStep];
            long most = high.longs()[i * highStep];
            value = BinaryKind.compare(dtype, value, least) < 0 ? least : value;
            out[i] = BinaryKind.compare(dtype, value, most) > 0 ? most : value;
        }
        return Literal.ofLongs(self.array(), out);
    }

    @Override
    public List<@Nullable Instruction> vjp(
            VjpContext context, Instruction self, List<@Nullable Instruction> cotangents) {
        Instruction cotangent = cotangents.get(0);
        if (cotangent == null) {
            return Arrays.asList(null, null, null);
        }
        OpBuilder b = context.build();
        Instruction x = self.operand(1);
        Instruction low = b.broadcastTo(self.operand(0), x.array());
        Instruction high = b.broadcastTo(self.operand(2), x.array());
        Instruction zeros = b.zerosLike(cotangent);
        Instruction atHigh = b.compare(b.max(low, x), high, Compare.Direction.GT);
        Instruction atLow = b.not(b.or(atHigh, b.compare(x, low, Compare.Direction.GE)));
        Instruction inside = b.not(b.or(atHigh, atLow));
        return Arrays.asList(
                b.sumTo(b.select(atLow, cotangent, zeros), self.operand(0).array()),
                b.select(inside, cotangent, zeros),
                b.sumTo(b.select(atHigh, cotangent, zeros), self.operand(2).array()));
    }
}
