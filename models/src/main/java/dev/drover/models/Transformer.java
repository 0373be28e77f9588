package dev.drover.models;

import dev.drover.ir.graph.Instruction;
import dev.drover.ir.init.Distribution;
import dev.drover.ir.ops.Compare;
import dev.drover.ir.ops.OpBuilder;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import java.util.List;

/** The parts that decoders share. Activations are {@code [batch, seq, hidden]}. */
final class Transformer {
    private static final double STD = 0.02;

    private final Layers layers;
    private final OpBuilder ops;
    private final Weights weights;
    private final long hidden;
    private final long heads;
    private final long seq;
    private final double residualStd;

    Transformer(Layers layers, Weights weights, long hidden, long heads, long seq, double residualStd) {
        this.layers = layers;
        this.ops = layers.ops();
        this.weights = weights;
        this.hidden = hidden;
        this.heads = heads;
        this.seq = seq;
        this.residualStd = residualStd;
    }

    /** Token and position embeddings. */
    Instruction embed(Instruction tokens, long vocab) {
        Instruction table = tokenTable(vocab);
        Instruction positions = weights.get("embed.position", Distribution.normal(STD), seq, hidden);
        Instruction x = layers.embedding(table, tokens);
        return ops.add(x, ops.broadcast(layers.toCompute(positions), x.array().dims(), 1, 2));
    }

    private Instruction tokenTable(long vocab) {
        return weights.get("embed.token", Distribution.normal(STD), vocab, hidden);
    }

    Instruction norm(Instruction x, String name) {
        return layers.layerNorm(
                x,
                weights.get(name + ".scale", Distribution.ones(), hidden),
                weights.get(name + ".bias", Distribution.zeros(), hidden));
    }

    /**
     * {@code x + attention(norm(x))}, causal:
     *
     * <pre>
     *   q, k, v  = [b s h] x [h n d] -> [b s n d]
     *   scores   = q * d^-1/2, k over d, batch (b n) -> [b n s t], plus 0 where t is at most s, else -30000
     *   softmax(scores) [b n s t] x v [b t n d] over t, batch (b n) -> [b n s d] x [n d h] over (n d) -> [b s h]
     * </pre>
     */
    Instruction attention(Instruction x, String block) {
        Instruction normal = norm(x, block + ".norm1");
        Instruction q = project(normal, block + ".attn.q");
        Instruction k = project(normal, block + ".attn.k");
        Instruction v = project(normal, block + ".attn.v");
        Instruction scores = ops.dot(
                ops.mul(q, Math.sqrt((double) heads / hidden)),
                k,
                List.of(0, 2),
                List.of(0, 2),
                List.of(3),
                List.of(3));
        Instruction masked = ops.add(
                scores,
                ops.broadcast(causalBias(scores.array().dtype()), scores.array().dims(), 2, 3));
        Instruction mixed = ops.dot(layers.softmax(masked), v, List.of(0, 1), List.of(0, 2), List.of(3), List.of(1));
        Instruction out =
                weights.get(block + ".attn.out", Distribution.normal(residualStd), heads, hidden / heads, hidden);
        return ops.add(x, ops.dot(mixed, layers.toCompute(out), List.of(), List.of(), List.of(1, 3), List.of(0, 1)));
    }

    private Instruction project(Instruction x, String name) {
        return layers.linear(x, weights.get(name, Distribution.normal(STD), hidden, heads, hidden / heads));
    }

    /** {@code [s, t]}: 0 where position s may see position t. The other value is within reach of f16, and far below any score. */
    private Instruction causalBias(DType dtype) {
        ArrayShape indexes = ArrayShape.of(DType.S32, seq, seq);
        Instruction visible = ops.compare(ops.iota(indexes, 0), ops.iota(indexes, 1), Compare.Direction.GE);
        return ops.select(visible, ops.zeros(indexes.withDType(dtype)), -30000);
    }

    /** {@code [batch, seq, vocab]}. */
    Instruction logits(Instruction x, long vocab, boolean tied) {
        Instruction normal = norm(x, "norm");
        if (tied) {
            return ops.dot(normal, layers.toCompute(tokenTable(vocab)), List.of(), List.of(), List.of(2), List.of(1));
        }
        return layers.linear(normal, weights.get("head", Distribution.normal(STD), hidden, vocab));
    }
}
