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
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Compares element by element; pred result. {@link Type#TOTALORDER} orders floats as IEEE 754's totalOrder does (-NaN, -inf, ..,
 * -0, +0, .., inf, NaN); every other type follows from the element type and is only carried.
 */
public record Compare(Direction direction, @Nullable Type type) implements Op {
    static final OpKind KIND = new OpKind(
            "compare",
            source -> new Compare(
                    parse(Direction.values(), "direction", source.need("direction")),
                    source.has("type") ? parse(Type.values(), "type", source.need("type")) : null));

    /** What must hold. */
    public enum Direction {
        EQ,
        NE,
        GE,
        GT,
        LE,
        LT;

        boolean holds(int order) {
            return switch (this) {
                case EQ -> order == 0;
                case NE -> order != 0;
                case GE -> order >= 0;
                case GT -> order > 0;
                case LE -> order <= 0;
                case LT -> order < 0;
            };
        }
    }

    /** HLO's comparison types. */
    public enum Type {
        FLOAT,
        TOTALORDER,
        SIGNED,
        UNSIGNED
    }

    public Compare(Direction direction) {
        this(direction, null);
    }

    private static <T extends Enum<T>> T parse(T[] values, String name, String text) {
        for (T value : values) {
            if (value.name().equals(text)) {
                return value;
            }
        }
        throw new AttributeException(
                name, "The " + name + " (" + text + ") of compare must be one of " + Arrays.toString(values) + ".");
    }

    @Override
    public String opcode() {
        return "compare";
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        ArrayShape operand = Check.sameArrays(this, operands, 2);
        Check.that(
                !operand.dtype().isComplex() || direction == Direction.EQ || direction == Direction.NE,
                "The direction (%s) of compare must be EQ or NE for complex operands.",
                direction);
        return operand.withDType(DType.PRED);
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
    public void print(OpWriter writer) {
        writer.attribute("direction", direction.name());
        if (type != null) {
            writer.attribute("type", type.name());
        }
    }

    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        Literal x = operands.get(0).literal();
        Literal y = operands.get(1).literal();
        long[] out = new long[x.size()];
        DType dtype = x.dtype();
        if (dtype.isFloat()) {
            double[] a = x.doubles();
            double[] b = y.doubles();
            for (int i = 0; i < out.length; i++) {
                out[i] = floats(a[i], b[i]) ? 1 : 0;
            }
        } else if (dtype.isComplex()) {
            double[] a = x.doubles();
            double[] b = y.doubles();
            for (int i = 0; i < out.length; i++) {
                boolean equal = a[2 * i] == b[2 * i] && a[2 * i + 1] == b[2 * i + 1];
                out[i] = equal == (direction == Direction.EQ) ? 1 : 0;
            }
        } else {
            long[] a = x.longs();
            long[] b = y.longs();
            for (int i = 0; i < out.length; i++) {
                out[i] = direction.holds(BinaryKind.compare(dtype, a[i], b[i])) ? 1 : 0;
            }
        }
        return Literal.ofLongs(self.array(), out);
    }

    private boolean floats(double x, double y) {
        if (type == Type.TOTALORDER) {
            // Double.compare puts every NaN last; the sign bit of a NaN moves it first.
            boolean firstX = Double.isNaN(x) && Double.doubleToRawLongBits(x) < 0;
            boolean firstY = Double.isNaN(y) && Double.doubleToRawLongBits(y) < 0;
            return direction.holds(firstX || firstY ? Boolean.compare(firstY, firstX) : Double.compare(x, y));
        }
        return switch (direction) {
            case EQ -> x == y;
            case NE -> x != y;
            case GE -> x >= y;
            case GT -> x > y;
            case LE -> x <= y;
            case LT -> x < y;
        };
    }

    @Override
    public List<@Nullable Instruction> vjp(
            VjpContext context, Instruction self, List<@Nullable Instruction> cotangents) {
        return Arrays.asList(null, null);
    }

    @Override
    public String toString() {
        return "compare " + direction.name().toLowerCase(Locale.ROOT);
    }
}
