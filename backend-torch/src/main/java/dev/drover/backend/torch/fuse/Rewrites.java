package dev.drover.backend.torch.fuse;

import dev.drover.backend.torch.emit.FlatProgram;
import dev.drover.backend.torch.emit.Node;
import java.util.List;

/** All rewrites: first groups of ops for which libtorch has a kernel, then chains of what is left. */
public final class Rewrites {
    /** A pattern that ends in a node: it tells the replacer what takes the node's place. */
    @FunctionalInterface
    private interface Pattern {
        void match(Match match, Node node, Replacer replacer);
    }

    private static final List<Pattern> PATTERNS = List.of(
            GeluPattern::forward,
            GeluPattern::backward,
            ReluPattern::backward,
            LayerNormPattern::apply,
            SoftmaxPattern::forward,
            SoftmaxPattern::backward);

    private Rewrites() {}

    public static FlatProgram apply(FlatProgram program) {
        List<Node> order = program.order();
        Match match = new Match(program, order);
        Replacer replacer = new Replacer();
        for (Node node : order) {
            for (Pattern pattern : PATTERNS) {
                pattern.match(match, node, replacer);
            }
        }
        return Chains.apply(replacer.apply(program));
    }
}
