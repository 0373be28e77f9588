package dev.drover.ir.ops;

import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.DType;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.function.DoubleUnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * The kinds of {@link Unary}, one row each: name, result type, linearity, functions by family of element types (none where the
 * kind does not take the family), gradient. Meanings as in XLA's operation semantics.
 *
 * <p>Rows read: opcode, real function, integer function, complex function, gradient.
 */
@SuppressWarnings("ImmutableEnumChecker") // The functions hold no state.
public enum UnaryKind {
    ABS(
            "abs",
            Math::abs,
            (t, x) -> t.family() == DType.Family.SIGNED ? Math.abs(x) : x,
            (re, im, z) -> z[0] = Math.hypot(re, im),
            UnaryKind::absGradient),
    CBRT(
            "cbrt",
            Math::cbrt,
            null,
            null,
            // y^3 = x, so dy/dx = 1 / (3 y^2)
            (b, x, y, dy) -> b.div(dy, b.mul(b.mul(y, y), 3))),
    CEIL("ceil", Math::ceil, null, null, UnaryKind::zero),
    COSINE(
            "cosine",
            Math::cos,
            null,
            (re, im, z) -> Complex.set(z, Math.cos(re) * Math.cosh(im), -Math.sin(re) * Math.sinh(im)),
            (b, x, y, dy) -> b.neg(b.mul(dy, b.sin(x)))),
    COUNT_LEADING_ZEROS(
            "count-leading-zeros",
            null,
            (t, x) -> Long.numberOfLeadingZeros(Elementwise.bits(t, x)) - (64 - t.bits()),
            null,
            UnaryKind::none),
    ERF(
            "erf",
            Erf::erf,
            null,
            null,
            (b, x, y, dy) -> b.mul(dy, b.mul(b.exp(b.neg(b.mul(x, x))), 2 / Math.sqrt(Math.PI)))),
    EXPONENTIAL("exponential", Math::exp, null, Complex::exp, (b, x, y, dy) -> b.mul(dy, y)),
    EXPONENTIAL_MINUS_ONE("exponential-minus-one", Math::expm1, null, null, (b, x, y, dy) -> b.mul(dy, b.add(y, 1))),
    FLOOR("floor", Math::floor, null, null, UnaryKind::zero),
    IMAG("imag", x -> 0, null, (re, im, z) -> z[0] = im, UnaryKind::imagGradient),
    IS_FINITE("is-finite", x -> Math.abs(x) <= Double.MAX_VALUE ? 1 : 0, null, null, UnaryKind::none),
    LOG("log", Math::log, null, Complex::log, (b, x, y, dy) -> b.div(dy, x)),
    LOG_PLUS_ONE("log-plus-one", Math::log1p, null, null, (b, x, y, dy) -> b.div(dy, b.add(x, 1))),
    LOGISTIC("logistic", x -> 1 / (1 + Math.exp(-x)), null, null, (b, x, y, dy) -> b.mul(dy, b.mul(y, b.sub(1, y)))),
    NEGATE("negate", x -> -x, (t, x) -> -x, (re, im, z) -> Complex.set(z, -re, -im), (b, x, y, dy) -> b.neg(dy)),
    NOT("not", null, (t, x) -> t == DType.PRED ? 1 - x : ~x, null, UnaryKind::none),
    POPCNT("popcnt", null, (t, x) -> Long.bitCount(Elementwise.bits(t, x)), null, UnaryKind::none),
    REAL("real", x -> x, null, (re, im, z) -> z[0] = re, UnaryKind::realGradient),
    ROUND_NEAREST_AFZ("round-nearest-afz", UnaryKind::roundAwayFromZero, null, null, UnaryKind::zero),
    ROUND_NEAREST_EVEN("round-nearest-even", Math::rint, null, null, UnaryKind::zero),
    RSQRT(
            "rsqrt",
            x -> 1 / Math.sqrt(x),
            null,
            Complex::rsqrt,
            // y = x^-1/2, so dy/dx = -y / (2 x)
            (b, x, y, dy) -> b.mul(dy, b.mul(b.div(y, x), -0.5))),
    SIGN("sign", Math::signum, UnaryKind::sign, Complex::sign, UnaryKind::signGradient),
    SINE(
            "sine",
            Math::sin,
            null,
            (re, im, z) -> Complex.set(z, Math.sin(re) * Math.cosh(im), Math.cos(re) * Math.sinh(im)),
            (b, x, y, dy) -> b.mul(dy, b.cos(x))),
    SQRT("sqrt", Math::sqrt, null, Complex::sqrt, (b, x, y, dy) -> b.mul(b.div(dy, y), 0.5)),
    TAN("tan", Math::tan, null, null, (b, x, y, dy) -> b.mul(dy, b.add(b.mul(y, y), 1))),
    TANH("tanh", Math::tanh, null, Complex::tanh, (b, x, y, dy) -> b.mul(dy, b.sub(1, b.mul(y, y))));

    /** {@code f(x)} on integers and pred; the result is wrapped to the type afterwards. */
    @FunctionalInterface
    interface LongFunction {
        long apply(DType dtype, long x);
    }

    /** {@code f(x)} on complex numbers; writes real and imaginary part. */
    @FunctionalInterface
    interface ComplexFunction {
        void apply(double re, double im, double[] result);
    }

    /** The cotangent of the operand {@code x}, given the result {@code y} and its cotangent; null if none flows. */
    @FunctionalInterface
    interface Gradient {
        @Nullable
        Instruction apply(OpBuilder b, Instruction x, Instruction y, Instruction dy);
    }

    private final String opcode;
    private final @Nullable DoubleUnaryOperator real;
    private final @Nullable LongFunction whole;
    private final @Nullable ComplexFunction complex;
    private final Gradient gradient;

    UnaryKind(
            String opcode,
            @Nullable DoubleUnaryOperator real,
            @Nullable LongFunction whole,
            @Nullable ComplexFunction complex,
            Gradient gradient) {
        this.opcode = opcode;
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
        return new OpKind(opcode, source -> new Unary(this));
    }

    /** Whether operands may have this element type. */
    public boolean accepts(DType dtype) {
        return switch (dtype.family()) {
            case FLOAT -> real != null;
            case COMPLEX -> complex != null;
            case PRED -> this == NOT;
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
        return switch (this) {
            case IS_FINITE -> DType.PRED;
            case ABS, REAL, IMAG -> operand == DType.C64 ? DType.F32 : operand;
            default -> operand;
        };
    }

    /** Whether {@code f(x + y) = f(x) + f(y)}. */
    public boolean linear() {
        return this == NEGATE || this == REAL || this == IMAG;
    }

    DoubleUnaryOperator real() {
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
            throw new IllegalStateException("The element type of the operand of " + opcode + " must be accepted.");
        }
        return function;
    }

    private static @Nullable Instruction none(OpBuilder b, Instruction x, Instruction y, Instruction dy) {
        return null;
    }

    /** Constant but for jumps. */
    private static @Nullable Instruction zero(OpBuilder b, Instruction x, Instruction y, Instruction dy) {
        return null;
    }

    // Cotangents of complex values pair bilinearly, as in JAX: f changes by the real part of (cotangent times dz).

    /** d|z| = Re(conj(z) / |z| dz). */
    private static Instruction absGradient(OpBuilder b, Instruction x, Instruction y, Instruction dy) {
        Instruction sign = b.sign(x);
        if (!x.array().dtype().isComplex()) {
            return b.mul(dy, sign);
        }
        return b.complex(b.mul(dy, b.real(sign)), b.neg(b.mul(dy, b.imag(sign))));
    }

    /** d Re(z) = Re(dz). */
    private static Instruction realGradient(OpBuilder b, Instruction x, Instruction y, Instruction dy) {
        return x.array().dtype().isComplex() ? b.complex(dy, b.zerosLike(dy)) : dy;
    }

    /** d Im(z) = Re(-i dz). */
    private static @Nullable Instruction imagGradient(OpBuilder b, Instruction x, Instruction y, Instruction dy) {
        return x.array().dtype().isComplex() ? b.complex(b.zerosLike(dy), b.neg(dy)) : null;
    }

    /** Constant but for the jump at 0, on real numbers. */
    private static @Nullable Instruction signGradient(OpBuilder b, Instruction x, Instruction y, Instruction dy) {
        if (x.array().dtype().isComplex()) {
            throw new NoGradientException(
                    "The operand (" + x.shape() + ") of sign (" + y.name() + ") must be real for a gradient.");
        }
        return null;
    }

    private static long sign(DType dtype, long x) {
        return dtype.family() == DType.Family.UNSIGNED ? (x == 0 ? 0 : 1) : Long.signum(x);
    }

    private static double roundAwayFromZero(double x) {
        double magnitude = Math.abs(x);
        double floor = Math.floor(magnitude);
        return Math.copySign(magnitude - floor >= 0.5 ? floor + 1 : floor, x);
    }
}
