package dev.drover.backend.torch.kernel;

import dev.drover.backend.torch.emit.Emitter;
import dev.drover.backend.torch.emit.Node;
import dev.drover.ir.ops.Compare;
import dev.drover.ir.ops.Op;
import dev.drover.ir.type.DType;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/** {@code compare}. */
final class Comparisons {
    private Comparisons() {}

    /** The direction of a comparison ({@code LT}, ..), or null for other ops and total orders. */
    static @Nullable String direction(Op op) {
        return op instanceof Compare compare && compare.type() != Compare.Type.TOTALORDER
                ? compare.direction().name()
                : null;
    }

    static void emit(Emitter emitter, Node node) {
        Compare compare = (Compare) node.op();
        DType dtype = node.input(0).shape().dtype();
        if (compare.type() == Compare.Type.TOTALORDER && dtype.isFloat()) {
            HostKernel.KERNEL.emit(emitter, node);
            return;
        }
        Elementwise.Binary f = switch (compare.direction()) {
            case EQ -> torch::eq_out;
            case NE -> torch::ne_out;
            case LT -> torch::lt_out;
            case LE -> torch::le_out;
            case GT -> torch::gt_out;
            case GE -> torch::ge_out;
        };
        if (dtype != DType.U64) {
            Elementwise.emit(emitter, node, Elementwise.binaryMaker(f));
            return;
        }
        // Flipping the top bit makes the order of unsigned numbers that of signed ones.
        Elementwise.emit(emitter, node, (binder, out, in) -> {
            Scalar top = binder.scalar(Long.MIN_VALUE);
            Tensor x = in[0];
            Tensor y = in[1];
            return () -> {
                try (PointerScope scope = new PointerScope()) {
                    f.apply(out, torch.bitwise_xor(x, top), torch.bitwise_xor(y, top));
                }
            };
        });
    }
}
