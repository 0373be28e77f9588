package dev.drover.ir.ops;

import dev.drover.ir.eval.Literal;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.ComputationBuilder;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Between two-parameter computations and the {@link Reduction}s that they are. */
public final class Reducers {
    private static final Map<String, Reduction> BY_OPCODE = Map.of(
            "add", Reduction.SUM,
            "multiply", Reduction.PROD,
            "minimum", Reduction.MIN,
            "maximum", Reduction.MAX,
            "and", Reduction.AND,
            "or", Reduction.OR);

    private Reducers() {}

    /**
     * The reduction that a computation of two scalars is: one add, multiply, minimum, maximum, and, or of its two parameters,
     * possibly with converts around (XLA widens bf16 so). Null for any other.
     */
    public static @Nullable Reduction of(Computation computation) {
        Instruction body = unconverted(computation.root());
        Reduction reduction = BY_OPCODE.get(body.op().opcode());
        if (reduction == null || computation.parameters().size() != 2) {
            return null;
        }
        Instruction left = unconverted(body.operand(0));
        Instruction right = unconverted(body.operand(1));
        boolean both = left.op() instanceof Parameter l
                && right.op() instanceof Parameter r
                && l.number() != r.number()
                && left.array().rank() == 0;
        if (!both) {
            return null;
        }
        DType outside = left.array().dtype();
        DType inside = body.array().dtype();
        boolean widened = outside.isFloat() && inside.isFloat() && inside.bits() >= outside.bits();
        boolean same =
                right.array().dtype() == outside && computation.root().array().dtype() == outside;
        return same && (inside == outside || widened) ? reduction : null;
    }

    private static Instruction unconverted(Instruction instruction) {
        Instruction at = instruction;
        while (at.op().opcode().equals("convert")) {
            at = at.operand(0);
        }
        return at;
    }

    /** The computation {@code (x, y) -> x op y} over scalars, the same each time, so that a program has it once. */
    public static Computation computation(Reduction reduction, DType dtype) {
        Computation computation = Shared.BY_REDUCTION_AND_TYPE.get(reduction.name() + dtype);
        return computation == null ? make(reduction, dtype) : computation;
    }

    /** Made at first use, when all op kinds are there. */
    private static final class Shared {
        private static final Map<String, Computation> BY_REDUCTION_AND_TYPE = all();

        private static Map<String, Computation> all() {
            Map<String, Computation> out = new HashMap<>();
            for (Reduction reduction : Reduction.values()) {
                for (DType dtype : DType.values()) {
                    boolean bitwise = reduction == Reduction.AND || reduction == Reduction.OR;
                    boolean ordered = reduction == Reduction.MIN || reduction == Reduction.MAX;
                    if (!(bitwise && (dtype.isFloat() || dtype.isComplex())) && !(ordered && dtype.isComplex())) {
                        out.put(reduction.name() + dtype, make(reduction, dtype));
                    }
                }
            }
            return Map.copyOf(out);
        }
    }

    private static Computation make(Reduction reduction, DType dtype) {
        ArrayShape scalar = ArrayShape.scalar(dtype);
        ComputationBuilder builder =
                new ComputationBuilder(reduction.name().toLowerCase(java.util.Locale.ROOT) + "_" + dtype.hloName());
        Instruction x = builder.parameter("x", scalar);
        Instruction y = builder.parameter("y", scalar);
        return builder.build(builder.add(op(reduction, scalar), x, y));
    }

    /** The elementwise op of a reduction. */
    static Op op(Reduction reduction, ArrayShape shape) {
        String opcode = opcode(reduction);
        OpKind kind = Ops.byOpcode(opcode);
        if (kind == null) {
            throw new IllegalStateException("The op (" + opcode + ") must be known.");
        }
        return kind.factory().make(new OpSource(opcode, shape, List.of(shape, shape), "", Map.of(), name -> {
            throw new IllegalArgumentException(name);
        }));
    }

    private static String opcode(Reduction reduction) {
        return switch (reduction) {
            case SUM -> "add";
            case PROD -> "multiply";
            case MIN -> "minimum";
            case MAX -> "maximum";
            case AND -> "and";
            case OR -> "or";
        };
    }

    /** The scalar that changes nothing: 0, 1, the largest, the smallest, all ones, 0. */
    public static Literal neutral(Reduction reduction, DType dtype) {
        if (dtype.isFloat() || dtype.isComplex()) {
            return Literal.scalar(
                    dtype,
                    switch (reduction) {
                        case SUM -> 0;
                        case PROD -> 1;
                        // The fn types have no infinity; their largest finite number is 448.
                        case MIN -> dtype == DType.F8E4M3FN ? 448 : Double.POSITIVE_INFINITY;
                        case MAX -> dtype == DType.F8E4M3FN ? -448 : Double.NEGATIVE_INFINITY;
                        case AND, OR ->
                            throw new IllegalArgumentException("The type (" + dtype.hloName()
                                    + ") of a logical reduction must be integer or pred.");
                    });
        }
        return Literal.ofLongs(ArrayShape.scalar(dtype), new long[] {neutralLong(reduction, dtype)});
    }

    private static long neutralLong(Reduction reduction, DType dtype) {
        boolean signed = dtype.family() == DType.Family.SIGNED;
        return switch (reduction) {
            case SUM, OR -> 0;
            case PROD -> 1;
            case AND -> -1;
            case MIN -> signed ? Long.MAX_VALUE >> (64 - dtype.bits()) : -1;
            case MAX -> signed ? Long.MIN_VALUE >> (64 - dtype.bits()) : 0;
        };
    }

    /** Combines two floats; NaN wins in minimum and maximum, as in XLA. */
    static double combine(Reduction reduction, double x, double y) {
        return switch (reduction) {
            case SUM -> x + y;
            case PROD -> x * y;
            case MIN -> Math.min(x, y);
            case MAX -> Math.max(x, y);
            case AND, OR -> throw new IllegalArgumentException("The operands of a logical reduction must be integers.");
        };
    }

    /** Combines two integers or preds, modulo 2^64. */
    static long combine(Reduction reduction, DType dtype, long x, long y) {
        boolean unsigned = dtype == DType.U64;
        return switch (reduction) {
            case SUM -> dtype == DType.PRED ? x | y : x + y;
            case PROD -> x * y;
            case MIN -> (unsigned ? Long.compareUnsigned(x, y) <= 0 : x <= y) ? x : y;
            case MAX -> (unsigned ? Long.compareUnsigned(x, y) >= 0 : x >= y) ? x : y;
            case AND -> x & y;
            case OR -> x | y;
        };
    }
}
