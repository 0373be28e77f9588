package dev.drover.backend.torch.fuse;

import dev.drover.backend.torch.emit.Node;
import dev.drover.backend.torch.emit.Node.Ref;
import dev.drover.backend.torch.kernel.RowKernels;
import dev.drover.ir.ops.Op;
import dev.drover.ir.type.DType;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * GELU in its tanh form, written with a logistic function, and its gradient:
 *
 * <pre>
 *   q = k3 * x * x, s = logistic(x * (q + k1)), y = x * s       =>  gelu(x)
 *   g * (s + (y - y * s) * (3 * q + k1))                        =>  gelu-gradient(g, x)
 * </pre>
 */
final class GeluPattern {
    private static final double K1 = 2 * Math.sqrt(2 / Math.PI);
    private static final double K3 = K1 * 0.044715;

    private GeluPattern() {}

    /** The x of {@code s = logistic(x * (k3 * x * x + k1))}. */
    private static @Nullable Ref input(Ref s) {
        if (!Match.is(s, "logistic") || !Match.is(s.input(0), "multiply")) {
            return null;
        }
        Ref product = s.input(0);
        for (int i = 0; i < 2; i++) {
            Ref x = product.input(i);
            Ref cubic = Match.withConstant(product.input(1 - i), "add", K1);
            Ref square = Match.withConstant(cubic, "multiply", K3);
            if (square != null && x.equals(Match.other(square, "multiply", x))) {
                return x;
            }
        }
        return null;
    }

    static void forward(Match match, Node node, Replacer replacer) {
        if (!node.op().opcode().equals("multiply") || node.shape().dtype() != DType.F32) {
            return;
        }
        for (int i = 0; i < 2; i++) {
            Ref x = node.input(i);
            if (x.equals(input(node.input(1 - i)))) {
                replace(node, new RowKernels.Gelu(), List.of(x), replacer);
                return;
            }
        }
    }

    static void backward(Match match, Node node, Replacer replacer) {
        if (!node.op().opcode().equals("multiply") || node.shape().dtype() != DType.F32) {
            return;
        }
        for (int i = 0; i < 2; i++) {
            Ref slope = node.input(i);
            if (!Match.is(slope, "add")) {
                continue;
            }
            for (int j = 0; j < 2; j++) {
                Ref s = slope.input(j);
                Ref x = input(s);
                if (x != null && isRest(slope.input(1 - j), s, x)) {
                    replace(node, new RowKernels.GeluGradient(), List.of(node.input(1 - i), x), replacer);
                    return;
                }
            }
        }
    }

    /** {@code (y - y * s) * (3 * q + k1)}. */
    private static boolean isRest(Ref product, Ref s, Ref x) {
        if (!Match.is(product, "multiply")) {
            return false;
        }
        for (int i = 0; i < 2; i++) {
            Ref difference = product.input(i);
            Ref cubic = Match.withConstant(Match.withConstant(product.input(1 - i), "add", K1), "multiply", 3);
            Ref square = Match.withConstant(cubic, "multiply", K3);
            if (square != null && x.equals(Match.other(square, "multiply", x)) && Match.is(difference, "subtract")) {
                Ref y = difference.input(0);
                return x.equals(Match.other(y, "multiply", s))
                        && s.equals(Match.other(difference.input(1), "multiply", y));
            }
        }
        return false;
    }

    private static void replace(Node node, Op op, List<Ref> inputs, Replacer replacer) {
        replacer.replace(
                node.ref(), new Replacer.Replacement(node.id(), node.name(), op, inputs, List.of(node.shape())), 0);
    }
}
