package dev.drover.backend.torch.fuse;

import dev.drover.backend.torch.emit.Node;
import dev.drover.backend.torch.emit.Node.Ref;
import dev.drover.backend.torch.kernel.RowKernels;
import dev.drover.ir.ops.Reduction;
import dev.drover.ir.type.DType;
import java.util.List;

/**
 * Softmax over the last dim, and its gradient:
 *
 * <pre>
 *   e = exp(x - max(x)), y = e / sum(e)     =>  softmax(x)
 *   (g - sum(g * y)) * y                    =>  softmax-gradient(g, y)
 * </pre>
 */
final class SoftmaxPattern {
    private SoftmaxPattern() {}

    static void forward(Match match, Node node, Replacer replacer) {
        if (!node.op().opcode().equals("divide") || node.shape().dtype() != DType.F32) {
            return;
        }
        Ref e = node.input(0);
        Ref sum = Match.alongLast(node.input(1));
        if (sum == null || !Match.is(e, "exponential") || !e.equals(Match.overLast(sum, Reduction.SUM))) {
            return;
        }
        Ref shifted = e.input(0);
        Ref max = Match.is(shifted, "subtract") ? Match.alongLast(shifted.input(1)) : null;
        if (max == null
                || !shifted.input(0).equals(Match.overLast(max, Reduction.MAX))
                || !match.onlyUsedBy(e, node, sum.node())) {
            return;
        }
        replacer.replace(
                node.ref(),
                new Replacer.Replacement(
                        node.id(),
                        node.name(),
                        new RowKernels.Softmax(),
                        List.of(shifted.input(0)),
                        List.of(node.shape())),
                0);
    }

    static void backward(Match match, Node node, Replacer replacer) {
        if (!node.op().opcode().equals("multiply") || node.shape().dtype() != DType.F32) {
            return;
        }
        for (int i = 0; i < 2; i++) {
            Ref difference = node.input(i);
            Ref y = node.input(1 - i);
            Ref sum = Match.is(difference, "subtract") ? Match.alongLast(difference.input(1)) : null;
            Ref product = Match.overLast(sum, Reduction.SUM);
            if (product == null) {
                continue;
            }
            Ref g = difference.input(0);
            if (y.equals(Match.other(product, "multiply", g)) && match.onlyUsedBy(difference, node)) {
                replacer.replace(
                        node.ref(),
                        new Replacer.Replacement(
                                node.id(),
                                node.name(),
                                new RowKernels.SoftmaxGradient(),
                                List.of(g, y),
                                List.of(node.shape())),
                        0);
                return;
            }
        }
    }
}
