package dev.drover.backend.torch.fuse;

import dev.drover.backend.torch.emit.Node;
import dev.drover.backend.torch.emit.Node.Ref;
import dev.drover.backend.torch.kernel.RowKernels;
import dev.drover.ir.ops.Reduce;
import dev.drover.ir.ops.Reduction;
import dev.drover.ir.type.DType;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Layer normalization over the last dim with its gradient, where both are in the program:
 *
 * <pre>
 *   c = x - mean(x), i = rsqrt(mean(c * c) + eps), n = c * i, y = n * scale + bias
 *   d = g * scale, dx = (d - mean(d) - n * mean(d * n)) * i, dscale = sum(g * n), dbias = sum(g)
 *   =>  (y, mean, i) = layer-norm(x, scale, bias);  (dx, dscale, dbias) = layer-norm-gradient(g, x, mean, i, scale)
 * </pre>
 *
 * The normalized n, which libtorch makes again from x, is not kept then.
 */
final class LayerNormPattern {
    private LayerNormPattern() {}

    /** The forward part. */
    private record Norm(Ref x, Ref normal, Ref inverse, double epsilon) {}

    private static @Nullable Norm norm(Ref normal) {
        if (!Match.is(normal, "multiply")) {
            return null;
        }
        Ref centered = normal.input(0);
        Ref inverse = Match.alongLast(normal.input(1));
        if (inverse == null || !Match.is(inverse, "rsqrt") || !Match.is(inverse.input(0), "add")) {
            return null;
        }
        Ref sum = inverse.input(0);
        Double epsilon = Match.constant(sum.input(1));
        Ref square = epsilon == null ? null : meanOf(sum.input(0));
        if (square == null
                || epsilon == null
                || !Match.is(square, "multiply")
                || !square.input(0).equals(centered)
                || !square.input(1).equals(centered)
                || !Match.is(centered, "subtract")) {
            return null;
        }
        Ref mean = Match.alongLast(centered.input(1));
        Ref x = centered.input(0);
        return mean != null && x.equals(meanOf(mean)) ? new Norm(x, normal, normal.input(1), epsilon) : null;
    }

    /** The x of {@code sum(x) * (1 / size)} over the last dim. */
    private static @Nullable Ref meanOf(@Nullable Ref mean) {
        if (mean == null || !Match.is(mean, "multiply")) {
            return null;
        }
        for (int i = 0; i < 2; i++) {
            Ref x = Match.overLast(mean.input(i), Reduction.SUM);
            Double factor = Match.constant(mean.input(1 - i));
            if (x != null && factor != null) {
                double size = x.shape().dim(x.shape().rank() - 1);
                return Math.abs(factor * size - 1) < 1e-5 ? x : null;
            }
        }
        return null;
    }

    static void apply(Match match, Node node, Replacer replacer) {
        if (!node.op().opcode().equals("add")
                || node.shape().dtype() != DType.F32
                || node.shape().rank() < 2) {
            return;
        }
        Ref bias = Match.alongOthers(node.input(1));
        Ref scaled = node.input(0);
        Ref scaleAlong = Match.is(scaled, "multiply") ? scaled.input(1) : null;
        Ref scale = scaleAlong == null ? null : Match.alongOthers(scaleAlong);
        Norm norm = bias == null || scale == null || scaleAlong == null ? null : norm(scaled.input(0));
        if (norm == null || scale == null || bias == null) {
            return;
        }
        Gradient gradient = gradient(match, norm, scaled, scale);
        boolean alone = match.onlyUsedBy(norm.normal(), scaled.node());
        if (gradient == null && !alone) {
            return;
        }
        var rows = RowKernels.rows(node.shape());
        Replacer.Replacement forward = new Replacer.Replacement(
                node.id(),
                node.name(),
                new RowKernels.LayerNorm(norm.epsilon()),
                List.of(norm.x(), scale, bias),
                List.of(node.shape(), rows, rows));
        replacer.replace(node.ref(), forward, 0);
        if (gradient != null) {
            // The statistics of the new forward node take the place of the old ones.
            Ref inverse = need(Match.alongLast(norm.inverse()));
            Ref mean = need(Match.alongLast(norm.normal().input(0).input(1)));
            replacer.replace(mean, forward, 1);
            replacer.replace(inverse, forward, 2);
            Replacer.Replacement backward = new Replacer.Replacement(
                    gradient.dx().node().id(),
                    gradient.dx().node().name(),
                    new RowKernels.LayerNormGradient(),
                    List.of(gradient.g(), norm.x(), mean, inverse, scale),
                    List.of(gradient.dx().shape(), scale.shape(), bias.shape()));
            replacer.replace(gradient.dx(), backward, 0);
            replacer.replace(gradient.dScale(), backward, 1);
            if (gradient.dBias() != null) {
                replacer.replace(gradient.dBias(), backward, 2);
            }
        }
    }

    private static Ref need(@Nullable Ref ref) {
        if (ref == null) {
            throw new IllegalStateException("The statistics must be there.");
        }
        return ref;
    }

    /** The backward part; the sum of g may be missing. */
    private record Gradient(
            Ref g, Ref dx, Ref dScale, @Nullable Ref dBias) {}

    private static @Nullable Gradient gradient(Match match, Norm norm, Ref scaled, Ref scale) {
        Ref normal = norm.normal();
        // dscale = sum(g * n) over all dims but the last tells g.
        for (Node product : match.users(normal)) {
            Ref g = product.results().size() == 1 ? Match.other(product.ref(), "multiply", normal) : null;
            Ref dScale = g == null ? null : sumOverOthers(match, product.ref());
            if (g == null || dScale == null || product.equals(scaled.node())) {
                continue;
            }
            for (Node scaling : match.users(g)) {
                Ref along = Match.other(scaling.ref(), "multiply", g);
                if (along != null && scale.equals(Match.alongOthers(along))) {
                    Ref dx = dx(match, norm, scaling.ref());
                    if (dx != null) {
                        return new Gradient(g, dx, dScale, sumOverOthers(match, g));
                    }
                }
            }
        }
        return null;
    }

    /** {@code (d - mean(d) - n * mean(d * n)) * i}. */
    private static @Nullable Ref dx(Match match, Norm norm, Ref d) {
        for (Node first : match.users(d)) {
            if (!first.op().opcode().equals("subtract") || !first.input(0).equals(d)) {
                continue;
            }
            if (!d.equals(meanOf(Match.alongLast(first.input(1))))) {
                continue;
            }
            for (Node second : match.users(first.ref())) {
                Ref slope = second.op().opcode().equals("subtract")
                        ? Match.other(second.input(1), "multiply", norm.normal())
                        : null;
                Ref product = slope == null ? null : meanOf(Match.alongLast(slope));
                if (product == null || !norm.normal().equals(Match.other(product, "multiply", d))) {
                    continue;
                }
                for (Node third : match.users(second.ref())) {
                    if (norm.inverse().equals(Match.other(third.ref(), "multiply", second.ref()))) {
                        return third.ref();
                    }
                }
            }
        }
        return null;
    }

    /** The sum of a value over all dims but the last, started with 0. */
    private static @Nullable Ref sumOverOthers(Match match, Ref value) {
        int last = value.shape().rank() - 1;
        for (Node user : match.users(value)) {
            if (user.op() instanceof Reduce reduce
                    && user.results().size() == 1
                    && reduce.reduction() == Reduction.SUM
                    && reduce.dimensions().size() == last
                    && !reduce.dimensions().contains(last)) {
                Double init = Match.constant(user.input(1));
                if (init != null && init == 0) {
                    return user.ref();
                }
            }
        }
        return null;
    }
}
