package dev.drover.ir.ops;

import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.DType;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.function.DoubleBinaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * The kinds of {@link Binary}, one row each. Meanings as in XLA's operation semantics: integers wrap; a division by zero gives
 * -1 (all ones), its remainder the dividend; shifts beyond the width give 0 or the sign.
 *
 * <p>Rows read: opcode, linear groups, real function, integer function, complex function, gradient.
 */
@SuppressWarnings("ImmutableEnumChecker") // The functions hold no state.
public enum BinaryKind {
    ADD(
            "add",
            List.of(Set.of(0, 1)),
            Double::sum,
            (t, x, y) -> x + y,
            (a, b, c, d, z) -> Complex.set(z, a + c, b + d),
            (b, x, y, z, dz) -> List.of(dz, dz)),
    AND("and", List.of(), null, (t, x, y) -> x & y, null, BinaryKind::none),
    ATAN2(
            "atan2",
            List.of(),
            Math::atan2,
            null,
            null,
            // z = atan2(x, y): dz/dx = y / (x^2 + y^2), dz/dy = -x / (x^2 + y^2)
            (b, x, y, z, dz) -> {
                Instruction scaled = b.div(dz, b.add(b.mul(x, x), b.mul(y, y)));
                return List.of(b.mul(scaled, y), b.neg(b.mul(scaled, x)));
            }),
    COMPLEX(
            "complex",
            List.of(Set.of(0, 1)),
            null,
            null,
            null,
            (b, x, y, z, dz) -> List.of(b.real(dz), b.neg(b.imag(dz)))),
    DIVIDE("divide", List.of(Set.of(0)), (x, y) -> x / y, BinaryKind::divide, Complex::divide, (b, x, y, z, dz) -> {
        Instruction dx = b.div(dz, y);
        return List.of(dx, b.neg(b.mul(dx, z)));
    }),
    MAXIMUM(
            "maximum",
            List.of(),
            Math::max,
            (t, x, y) -> compare(t, x, y) >= 0 ? x : y,
            null,
            (b, x, y, z, dz) -> extremum(b, x, y, dz, Compare.Direction.GT)),
    MINIMUM(
            "minimum",
            List.of(),
            Math::min,
            (t, x, y) -> compare(t, x, y) <= 0 ? x : y,
            null,
            (b, x, y, z, dz) -> extremum(b, x, y, dz, Compare.Direction.LT)),
    MULTIPLY(
            "multiply",
            List.of(Set.of(0), Set.of(1)),
            (x, y) -> x * y,
            (t, x, y) -> x * y,
            Complex::multiply,
            (b, x, y, z, dz) -> List.of(b.mul(dz, y), b.mul(dz, x))),
    OR("or", List.of(), null, (t, x, y) -> x | y, null, BinaryKind::none),
    POWER(
            "power",
            List.of(),
            BinaryKind::power,
            BinaryKind::power,
            Complex::power,
            // dz/dx = y x^(y-1), 0 where y is 0; dz/dy = z log x, 0 where x is 0
            (b, x, y, z, dz) -> {
                Instruction zeros = b.zerosLike(x);
                Instruction slope = b.mul(y, b.pow(x, b.sub(y, 1)));
                Instruction log = b.log(b.select(b.equal(x, zeros), b.onesLike(x), x));
                return List.of(b.mul(dz, b.select(b.equal(y, zeros), zeros, slope)), b.mul(dz, b.mul(z, log)));
            }),
    REMAINDER(
            "remainder",
            List.of(),
            (x, y) -> x % y,
            BinaryKind::remainder,
            null,
            // z = x - y trunc(x / y)
            (b, x, y, z, dz) -> {
                Instruction ratio = b.div(x, y);
                Instruction truncated = b.mul(b.sign(ratio), b.floor(b.abs(ratio)));
                return List.of(dz, b.neg(b.mul(dz, truncated)));
            }),
    SHIFT_LEFT("shift-left", List.of(), null, (t, x, y) -> beyond(t, y) ? 0 : x << y, null, BinaryKind::none),
    SHIFT_RIGHT_ARITHMETIC(
            "shift-right-arithmetic",
            List.of(),
            null,
            (t, x, y) -> signed(t, x) >> (beyond(t, y) ? 63 : y),
            null,
            BinaryKind::none),
    SHIFT_RIGHT_LOGICAL(
            "shift-right-logical",
            List.of(),
            null,
            (t, x, y) -> beyond(t, y) ? 0 : Elementwise.bits(t, x) >>> y,
            null,
            BinaryKind::none),
    SUBTRACT(
            "subtract",
            List.of(Set.of(0, 1)),
            (x, y) -> x - y,
            (t, x, y) -> x - y,
            (a, b, c, d, z) -> Complex.set(z, a - c, b - d),
            (b, x, y, z, dz) -> List.of(dz, b.neg(dz))),
    XOR("xor", List.of(), null, (t, x, y) -> x ^ y, null, BinaryKind::none);

    /** {@code f(x, y)} on integers and pred; the result is wrapped to the type afterwards. */
    @FunctionalInterface
    interface LongFunction {
        long apply(DType dtype, long x, long y);
    }

    /** {@code f(a + bi, c + di)}; writes real and imaginary part. */
    @FunctionalInterface
    interface ComplexFunction {
        void apply(double a, double b, double c, double d, double[] result);
    }

    /** The cotangents of the operands {@code x} and {@code y}, given the result {@code z} and its cotangent. */
    @FunctionalInterface
    interface Gradient {
        List<@Nullable Instruction> apply(OpBuilder b, Instruction x, Instruction y, Instruction z, Instruction dz);
    }

    private final String opcode;
    private final List<Set<Integer>> linearGroups;
    private final @Nullable DoubleBinaryOperator real;
    private final @Nullable LongFunction whole;
    private final @Nullable ComplexFunction complex;
    private final Gradient gradient;

    BinaryKind(
            String opcode,
            List<Set<Integer>> linearGroups,
            @Nullable DoubleBinaryOperator real,
            @Nullable LongFunction whole,
            @Nullable ComplexFunction complex,
            Gradient gradient) {
        this.opcode = opcode;
        this.linearGroups = linearGroups;
        this.real = real;
        this.whole = whole;
        this.complex = complex;
        this.gradient = gradient;
    }

    public String opcode() {
        return opcode;
    }

    /** The row of {@link Ops#ALL}. */
    OpKind kind() {
        return new OpKind(opcode, source -> new Binary(this));
    }

    /** Whether operands may have this element type. */
    public boolean accepts(DType dtype) {
        if (this == COMPLEX) {
            return dtype == DType.F32;
        }
        return switch (dtype.family()) {
            case FLOAT -> real != null;
            case COMPLEX -> complex != null;
            case PRED -> whole != null && !opcode.startsWith("shift");
            case SIGNED, UNSIGNED -> whole != null;
        };
    }

    /** What {@link #accepts} says, in words. */
    String accepted() {
        List<String> families = new ArrayList<>();
        for (DType.Family family : DType.Family.values()) {
            for (DType dtype : DType.values()) {
                if (dtype.family() == family && accepts(dtype)) {
                    families.add(family.name().toLowerCase(Locale.ROOT));
                    break;
                }
            }
        }
        return String.join(" or ", families);
    }

    /** Element type of the result. */
    public DType resultType(DType operand) {
        return this == COMPLEX ? DType.C64 : operand;
    }

    public List<Set<Integer>> linearGroups() {
        return linearGroups;
    }

    DoubleBinaryOperator real() {
        return need(real);
    }

    LongFunction whole() {
        return need(whole);
    }

    ComplexFunction complex() {
        return need(complex);
    }

    Gradient gradient() {
        return gradient;
    }

    private <T> T need(@Nullable T function) {
        if (function == null) {
            throw new IllegalStateException("The element type of the operands of " + opcode + " must be accepted.");
        }
        return function;
    }

    private static List<@Nullable Instruction> none(
            OpBuilder b, Instruction x, Instruction y, Instruction z, Instruction dz) {
        return Arrays.asList(null, null);
    }

    /** The larger (smaller) operand takes the cotangent; equal ones take half each, as in JAX. */
    private static List<@Nullable Instruction> extremum(
            OpBuilder b, Instruction x, Instruction y, Instruction dz, Compare.Direction wins) {
        Instruction zeros = b.zerosLike(dz);
        Instruction half = b.mul(dz, 0.5);
        Instruction equal = b.equal(x, y);
        Instruction dx = b.select(b.compare(x, y, wins), dz, b.select(equal, half, zeros));
        Instruction dy = b.select(b.compare(y, x, wins), dz, b.select(equal, half, zeros));
        return List.of(dx, dy);
    }

    /** Order of two integers of a type. */
    static int compare(DType dtype, long x, long y) {
        return dtype == DType.U64 ? Long.compareUnsigned(x, y) : Long.compare(x, y);
    }

    private static long divide(DType dtype, long x, long y) {
        if (y == 0) {
            return -1;
        }
        return dtype == DType.U64 ? Long.divideUnsigned(x, y) : x / y;
    }

    private static long remainder(DType dtype, long x, long y) {
        if (y == 0) {
            return x;
        }
        return dtype == DType.U64 ? Long.remainderUnsigned(x, y) : x % y;
    }

    /** C's {@code pow}, which differs from Java's where the base is 1 or -1. */
    private static double power(double x, double y) {
        if (x == 1 || (x == -1 && Double.isInfinite(y))) {
            return 1;
        }
        return Math.pow(x, y);
    }

    private static long power(DType dtype, long x, long y) {
        boolean unsigned = dtype.family() != DType.Family.SIGNED;
        if (!unsigned && y < 0) {
            return x == 1 ? 1 : x == -1 ? ((y & 1) == 0 ? 1 : -1) : 0;
        }
        long result = 1;
        long base = x;
        for (long rest = y; rest != 0; rest >>>= 1) {
            if ((rest & 1) == 1) {
                result *= base;
            }
            base *= base;
        }
        return result;
    }

    /** Whether a shift, read as unsigned, leaves nothing. */
    private static boolean beyond(DType dtype, long shift) {
        return shift < 0 || shift >= dtype.bits();
    }

    /** The bits of an integer read as signed. */
    private static long signed(DType dtype, long x) {
        int rest = 64 - dtype.bits();
        return x << rest >> rest;
    }
}
