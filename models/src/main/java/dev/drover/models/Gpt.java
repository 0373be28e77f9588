package dev.drover.models;

import dev.drover.ir.graph.Instruction;
import dev.drover.ir.init.Distribution;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import java.util.List;

/**
 * A decoder as in GPT-2, without biases in its matrix products: token and position embeddings, blocks of attention and MLP, each
 * behind a layer normalization and beside a residual, a last normalization and the next token's logits. Heads are a dim of their own
 * throughout.
 */
final class Gpt implements ModelKind {
    private static final double STD = 0.02;

    @Override
    public String name() {
        return "gpt";
    }

    @Override
    public String description() {
        return "decoder-only transformer, next-token loss";
    }

    @Override
    public String example() {
        return "gpt:layers=4,hidden=256,heads=4,seq=128,batch=16";
    }

    @Override
    public List<ModelOption> options() {
        return ModelAssembly.withTraining(
                List.of(
                        ModelOption.depth("layers", 4, "blocks"),
                        ModelOption.size("hidden", 256, "width of the residual stream, a multiple of heads"),
                        ModelOption.size("heads", 4, "attention heads"),
                        ModelOption.size("seq", 128, "tokens of a sequence"),
                        ModelOption.size("batch", 16, "sequences of a step"),
                        ModelOption.size("vocab", 256, "different tokens"),
                        ModelOption.size("expand", 4, "width of the MLP in units of hidden"),
                        ModelOption.choice("activation", "gelu", Layers.ACTIVATIONS, "of the MLP"),
                        ModelOption.flag("tied", true, "whether logits use the token embedding")),
                "adam",
                "0.001");
    }

    @Override
    public Model build(ModelOptions options) {
        options.mustDivide("hidden", "heads");
        long batch = options.integer("batch");
        long seq = options.integer("seq");
        ArrayShape tokens = ArrayShape.of(DType.S32, batch, seq);
        return ModelAssembly.assemble(
                options,
                List.of(
                        new BatchInput("tokens", tokens, BatchInput.Kind.TOKENS, options.integer("vocab")),
                        new BatchInput("labels", tokens, BatchInput.Kind.NEXT_TOKENS, options.integer("vocab"))),
                (layers, weights, data) -> body(options, layers, weights, data),
                batch * seq,
                "token");
    }

    private static ModelBody.Result body(ModelOptions options, Layers layers, Weights weights, List<Instruction> data) {
        int depth = options.integer("layers");
        long hidden = options.integer("hidden");
        long inner = hidden * options.integer("expand");
        double residualStd = STD / Math.sqrt(2.0 * depth);
        Transformer transformer =
                new Transformer(layers, weights, hidden, options.integer("heads"), options.integer("seq"), residualStd);
        Instruction x = transformer.embed(data.get(0), options.integer("vocab"));
        for (int layer = 0; layer < depth; layer++) {
            String block = "block" + layer;
            x = transformer.attention(x, block);
            Instruction normal = transformer.norm(x, block + ".norm2");
            Instruction up =
                    layers.linear(normal, weights.get(block + ".mlp.up", Distribution.normal(STD), hidden, inner));
            Instruction active = layers.activation(options.text("activation"), up);
            Instruction down = layers.linear(
                    active, weights.get(block + ".mlp.down", Distribution.normal(residualStd), inner, hidden));
            x = layers.ops().add(x, down);
        }
        Instruction logits = transformer.logits(x, options.integer("vocab"), options.flag("tied"));
        return new ModelBody.Result(logits, layers.meanAll(layers.crossEntropy(logits, data.get(1))));
    }
}
