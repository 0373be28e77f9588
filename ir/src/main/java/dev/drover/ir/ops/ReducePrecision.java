package dev.drover.ir.ops;

import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Rounding;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.ir.type.Shape;
import java.util.Collections;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Rounds to what a float of {@code exponentBits} and {@code mantissaBits} (the hidden one not counted) can hold; too large gives
 * infinity, too small for a normal number
 * gives a zero of the same sign.
 */
public record ReducePrecision(int exponentBits, int mantissaBits) implements Op {
    static final OpKind KIND = new OpKind("reduce-precision", source -> {
        source.need("exponent_bits");
        source.need("mantissa_bits");
        int exponentBits = source.integer("exponent_bits", 0);
        int mantissaBits = source.integer("mantissa_bits", 0);
        if (exponentBits < 1 || exponentBits > 11) {
            throw new AttributeException(
                    "exponent_bits",
                    "The exponent_bits (" + exponentBits + ") of reduce-precision must be in [1, 11].");
        }
        if (mantissaBits < 0 || mantissaBits > 52) {
            throw new AttributeException(
                    "mantissa_bits",
                    "The mantissa_bits (" + mantissaBits + ") of reduce-precision must be in [0, 52].");
        }
        return new ReducePrecision(exponentBits, mantissaBits);
    });

    @Override
    public String opcode() {
        return "reduce-precision";
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        ArrayShape operand = Check.onlyArray(this, operands);
        Check.that(operand.dtype().isFloat(), "The operand (%s) of reduce-precision must be a float.", operand);
        return operand;
    }

    @Override
    public FactorRule factors(List<Shape> operands, Shape result) {
        return Elementwise.factors(operands, result);
    }

    @Override
    public void print(OpWriter writer) {
        writer.attribute("exponent_bits", Integer.toString(exponentBits));
        writer.attribute("mantissa_bits", Integer.toString(mantissaBits));
    }

    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        Literal x = operands.get(0).literal();
        double[] out = x.doubles().clone();
        int maxExponent = (1 << (exponentBits - 1)) - 1;
        // As in XLA, only a narrower exponent flushes numbers that are not normal.
        boolean flush = exponentBits < exponentBitsOf(x.dtype());
        double smallest = flush ? Math.scalb(1.0, 1 - maxExponent) : 0;
        for (int i = 0; i < out.length; i++) {
            double rounded = Rounding.roundTo(out[i], mantissaBits + 1, maxExponent);
            out[i] = Math.abs(rounded) < smallest ? Math.copySign(0.0, rounded) : rounded;
        }
        return Literal.ofDoubles(self.array(), out);
    }

    private static int exponentBitsOf(DType dtype) {
        return switch (dtype) {
            case F64 -> 11;
            case F16, F8E5M2 -> 5;
            case F8E4M3FN -> 4;
            default -> 8;
        };
    }

    @Override
    public List<@Nullable Instruction> vjp(
            VjpContext context, Instruction self, List<@Nullable Instruction> cotangents) {
        Instruction cotangent = cotangents.get(0);
        return Collections.singletonList(
                cotangent == null ? null : context.build().builder().add(this, cotangent));
    }
}
