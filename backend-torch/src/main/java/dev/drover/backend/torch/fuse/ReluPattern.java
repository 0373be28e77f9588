package dev.drover.backend.torch.fuse;

import dev.drover.backend.torch.emit.Node;
import dev.drover.backend.torch.emit.Node.Ref;
import dev.drover.backend.torch.kernel.RowKernels;
import dev.drover.ir.ops.Compare;
import dev.drover.ir.type.DType;
import java.util.List;

/**
 * The gradient of {@code max(x, 0)}:
 *
 * <pre>
 *   select(compare(x, 0), g, 0), direction=GT   =>   relu-gradient(g, x)
 *   select(compare(0, x), g, 0), direction=LT
 * </pre>
 *
 * <p>libtorch's select takes twenty times as long, for it branches at each element.
 */
final class ReluPattern {
    private ReluPattern() {}

    static void backward(Match match, Node node, Replacer replacer) {
        if (!node.op().opcode().equals("select")
                || node.shape().dtype() != DType.F32
                || !isZero(node.input(2))
                || !(node.input(0).op() instanceof Compare compare)) {
            return;
        }
        Ref test = node.input(0);
        boolean above = compare.direction() == Compare.Direction.GT && isZero(test.input(1));
        boolean below = compare.direction() == Compare.Direction.LT && isZero(test.input(0));
        if (compare.type() == Compare.Type.TOTALORDER || above == below) {
            return;
        }
        Ref x = test.input(above ? 0 : 1);
        if (x.shape().equals(node.shape())) {
            replacer.replace(
                    node.ref(),
                    new Replacer.Replacement(
                            node.id(),
                            node.name(),
                            new RowKernels.ReluGradient(),
                            List.of(node.input(1), x),
                            List.of(node.shape())),
                    0);
        }
    }

    /** Not -0, which as a result would be another. */
    private static boolean isZero(Ref ref) {
        Double value = Match.constant(ref);
        return value != null && Double.doubleToRawLongBits(value) == 0;
    }
}
