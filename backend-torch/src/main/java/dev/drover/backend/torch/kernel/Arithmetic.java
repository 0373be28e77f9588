package dev.drover.backend.torch.kernel;

import dev.drover.backend.torch.emit.Emitter;
import dev.drover.backend.torch.emit.Node;
import dev.drover.ir.type.DType;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptional;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** Elementwise ops whose meaning depends on the element type. */
final class Arithmetic {
    private Arithmetic() {}

    /** Chooses a kernel by the element type of the first operand. */
    static Emitter.Kernel byType(Emitter.Kernel floats, Emitter.Kernel integers, Emitter.Kernel pred) {
        return (emitter, node) -> {
            DType dtype = node.input(0).shape().dtype();
            Emitter.Kernel kernel = switch (dtype.family()) {
                case FLOAT, COMPLEX -> floats;
                case PRED -> pred;
                default -> integers;
            };
            kernel.emit(emitter, node);
        };
    }

    /** Goes to the host for some element types of the first operand. */
    static Emitter.Kernel hostFor(Emitter.Kernel kernel, DType... dtypes) {
        return (emitter, node) -> {
            DType dtype = node.input(0).shape().dtype();
            (java.util.Arrays.asList(dtypes).contains(dtype) ? HostKernel.KERNEL : kernel).emit(emitter, node);
        };
    }

    /** Integer division towards zero: by 0 all ones, the smallest by -1 itself. */
    static void divideIntegers(Emitter emitter, Node node) {
        Elementwise.emit(emitter, node, (binder, out, in) -> {
            Scalar zero = binder.scalar(0L);
            Scalar one = binder.scalar(1L);
            Scalar minusOne = binder.scalar(-1L);
            boolean signed = node.shape().dtype().family() == DType.Family.SIGNED;
            return () -> {
                try (PointerScope scope = new PointerScope()) {
                    Tensor byZero = in[1].eq(zero);
                    Tensor special = signed ? byZero.logical_or(in[1].eq(minusOne)) : byZero;
                    // Without the remainder the division is exact, and rounding does not matter.
                    Tensor divisor = in[1].masked_fill(special, one);
                    Tensor quotient = torch.floor_divide(torch.sub(in[0], torch.fmod(in[0], divisor)), divisor);
                    if (signed) {
                        quotient = torch.where(in[1].eq(minusOne), in[0].neg(), quotient);
                    }
                    out.copy_(quotient.masked_fill(byZero, minusOne));
                }
            };
        });
    }

    /** Integer remainder with the dividend's sign: by 0 the dividend. */
    static void remainderIntegers(Emitter emitter, Node node) {
        Elementwise.emit(emitter, node, (binder, out, in) -> {
            Scalar zero = binder.scalar(0L);
            Scalar one = binder.scalar(1L);
            Scalar minusOne = binder.scalar(-1L);
            boolean signed = node.shape().dtype().family() == DType.Family.SIGNED;
            return () -> {
                try (PointerScope scope = new PointerScope()) {
                    Tensor byZero = in[1].eq(zero);
                    Tensor special = signed ? byZero.logical_or(in[1].eq(minusOne)) : byZero;
                    Tensor rest = torch.fmod(in[0], in[1].masked_fill(special, one));
                    out.copy_(torch.where(byZero, in[0], rest));
                }
            };
        });
    }

    /** Which way a shift goes. */
    enum Shift {
        LEFT,
        RIGHT_ARITHMETIC,
        RIGHT_LOGICAL
    }

    /** Shifts by at least the width give 0, or the sign where it is kept. */
    static Emitter.Kernel shift(Shift shift) {
        return (emitter, node) -> Elementwise.emit(emitter, node, (binder, out, in) -> {
            DType dtype = node.shape().dtype();
            int bits = dtype.bits();
            Scalar zero = binder.scalar(0L);
            Scalar width = binder.scalar((long) bits);
            Scalar last = binder.scalar((long) bits - 1);
            Scalar mask = binder.scalar(bits == 64 ? -1L : (1L << bits) - 1);
            Scalar minusOne = binder.scalar(-1L);
            boolean unsigned = dtype.family() == DType.Family.UNSIGNED;
            return () -> {
                try (PointerScope scope = new PointerScope()) {
                    // Amounts are read as unsigned: a negative one is beyond the width.
                    Tensor over = in[1].ge(width).logical_or(in[1].lt(zero));
                    Tensor amount = in[1].masked_fill(over, zero);
                    Tensor result;
                    switch (shift) {
                        case LEFT ->
                            result = torch.bitwise_left_shift(in[0], amount).masked_fill(over, zero);
                        case RIGHT_ARITHMETIC -> {
                            Tensor clamped = in[1].masked_fill(over, last);
                            Tensor value = in[0];
                            if (unsigned && bits < 64) {
                                // The top bit of the type is the sign.
                                Tensor wide = value.to(ScalarType.Long);
                                Scalar up = new Scalar((long) (64 - bits));
                                value = torch.bitwise_right_shift(torch.bitwise_left_shift(wide, up), up);
                                clamped = clamped.to(ScalarType.Long);
                            }
                            result = torch.bitwise_right_shift(value, clamped);
                            if (unsigned && bits < 64) {
                                result = torch.bitwise_and(result, mask);
                            }
                        }
                        default -> {
                            if (bits < 64) {
                                Tensor wide = torch.bitwise_and(in[0].to(ScalarType.Long), mask);
                                result = torch.bitwise_right_shift(wide, amount.to(ScalarType.Long))
                                        .masked_fill(over, zero);
                            } else {
                                Tensor moved = torch.bitwise_right_shift(in[0], amount);
                                Tensor keep = torch.bitwise_left_shift(
                                        torch.full_like(amount, minusOne),
                                        torch.sub(torch.full_like(amount, width), amount));
                                Tensor cleared = torch.bitwise_and(moved, torch.bitwise_not(keep));
                                result = torch.where(amount.eq(zero), in[0], cleared)
                                        .masked_fill(over, zero);
                            }
                        }
                    }
                    out.copy_(result);
                }
            };
        });
    }

    /** Half away from zero. */
    static void roundAwayFromZero(Tensor out, Tensor[] in) {
        Tensor whole = torch.trunc(in[0]);
        Tensor fraction = torch.abs(torch.sub(in[0], whole));
        Tensor up = torch.where(fraction.ge(new Scalar(0.5)), torch.sign(in[0]), torch.zeros_like(in[0]));
        torch.add_out(out, whole, up);
    }

    /** The sign; NaN and both zeros are themselves. */
    static void signFloats(Tensor out, Tensor[] in) {
        Tensor keeps = in[0].ne(in[0]).logical_or(in[0].eq(new Scalar(0.0)));
        out.copy_(torch.where(keeps, in[0], torch.sign(in[0])));
    }

    /** The real cube root. */
    static void cubeRoot(Tensor out, Tensor[] in) {
        Tensor wide = in[0].to(ScalarType.Double);
        Tensor root = torch.abs(wide).pow(new Scalar(1.0 / 3.0));
        out.copy_(torch.mul(root, torch.sign(wide)));
    }

    /** {@code min(max(x, low), high)} with operands low, x, high. */
    static void clamp(Emitter emitter, Node node) {
        Elementwise.emit(emitter, node, (binder, out, in) -> {
            TensorOptional low = binder.own(new TensorOptional(in[0]));
            TensorOptional high = binder.own(new TensorOptional(in[2]));
            Tensor x = in[1];
            return () -> torch.clamp_out(out, x, low, high);
        });
    }

    /** The absolute value; of complex numbers the modulus. */
    static void abs(Emitter emitter, Node node) {
        Elementwise.emit(emitter, node, Elementwise.unaryMaker(torch::abs_out));
    }

    /** {@code pred ? x : y}. */
    static void select(Emitter emitter, Node node) {
        Elementwise.emit(emitter, node, (binder, out, in) -> {
            Tensor pred = in[0];
            Tensor x = in[1];
            Tensor y = in[2];
            return () -> torch.where_out(out, pred, x, y);
        });
    }
}
