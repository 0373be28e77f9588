package dev.drover.backend.torch.comm;

import static org.bytedeco.pytorch.global.torch.add_out;
import static org.bytedeco.pytorch.global.torch.bitwise_and_out;
import static org.bytedeco.pytorch.global.torch.bitwise_or_out;
import static org.bytedeco.pytorch.global.torch.empty_like;
import static org.bytedeco.pytorch.global.torch.logical_and_out;
import static org.bytedeco.pytorch.global.torch.logical_or_out;
import static org.bytedeco.pytorch.global.torch.maximum_out;
import static org.bytedeco.pytorch.global.torch.minimum_out;
import static org.bytedeco.pytorch.global.torch.mul_out;

import dev.drover.ir.ops.Reduction;
import dev.drover.ir.type.DType;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** Element-by-element combination of two tensors, as all-reduce and reduce-scatter need it. */
public final class Combine {

    private Combine() {}

    /**
     * {@code result = left (reduction) right}; result may be one of the operands. NaN wins in MIN and MAX, as in HLO.
     *
     * @param dtype what the elements mean; it may be narrower than the type that carries them
     */
    public static void into(Tensor result, Tensor left, Tensor right, DType dtype, Reduction reduction) {
        try (PointerScope scope = new PointerScope()) {
            if (dtype == DType.U64 && (reduction == Reduction.MAX || reduction == Reduction.MIN)) {
                // Carried as s64: with the top bit turned over, signed order is the unsigned one.
                Tensor combined = empty_like(result);
                apply(combined, topBitTurned(left), topBitTurned(right), dtype, reduction);
                result.copy_(topBitTurned(combined));
            } else if (dtype == DType.F8E4M3FN || dtype == DType.F8E5M2) {
                // libtorch has no arithmetic on these.
                Tensor wide = left.to(ScalarType.Float);
                apply(wide, wide, right.to(ScalarType.Float), DType.F32, reduction);
                result.copy_(wide);
            } else {
                apply(result, left, right, dtype, reduction);
                wrap(result, dtype, reduction);
            }
        }
    }

    // The calls return a second wrapper of their first argument, which the caller's scope frees.
    private static void apply(Tensor result, Tensor left, Tensor right, DType dtype, Reduction reduction) {
        Tensor unused = switch (reduction) {
            case SUM -> add_out(result, left, right);
            case PROD -> mul_out(result, left, right);
            case MAX -> maximum_out(result, left, right);
            case MIN -> minimum_out(result, left, right);
            case AND ->
                dtype == DType.PRED ? logical_and_out(result, left, right) : bitwise_and_out(result, left, right);
            case OR -> dtype == DType.PRED ? logical_or_out(result, left, right) : bitwise_or_out(result, left, right);
        };
    }

    private static Tensor topBitTurned(Tensor tensor) {
        return tensor.bitwise_xor(new Scalar(Long.MIN_VALUE));
    }

    private static void wrap(Tensor result, DType dtype, Reduction reduction) {
        if (reduction == Reduction.SUM || reduction == Reduction.PROD) {
            switch (dtype) {
                case U16, U32, U4 -> result.bitwise_and_(new Scalar((1L << dtype.bits()) - 1));
                case S4 -> {
                    // 8 and above are negative: ((x + 8) and 15) - 8.
                    result.add_(new Scalar(8L)).bitwise_and_(new Scalar(15L)).sub_(new Scalar(8L));
                }
                default -> {
                    // The carrier wraps as the type does.
                }
            }
        }
    }
}
