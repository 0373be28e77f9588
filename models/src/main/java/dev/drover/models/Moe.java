package dev.drover.models;

import dev.drover.ir.graph.Instruction;
import dev.drover.ir.init.Distribution;
import dev.drover.ir.ops.Compare;
import dev.drover.ir.ops.OpBuilder;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A decoder with mixtures of experts, gated as in GShard (Lepikhin et al., ICLR 2021, algorithm 1): each token goes to the two
 * experts with the highest gates, as long as these have room in the token's group; dispatch and combination are dots with one-hot
 * tensors. Unlike the paper's, the second expert is never dropped at random, so that a step is a function of its inputs.
 */
final class Moe implements ModelKind {
    private static final double STD = 0.02;
    private static final double BALANCE_WEIGHT = 0.01;

    @Override
    public String name() {
        return "moe";
    }

    @Override
    public String description() {
        return "decoder with mixtures of experts, GShard top-2 gating with capacity, next-token and balance loss";
    }

    @Override
    public String example() {
        return "moe:layers=4,hidden=128,heads=4,seq=64,batch=8,experts=8";
    }

    @Override
    public List<ModelOption> options() {
        return ModelAssembly.withTraining(
                List.of(
                        ModelOption.depth("layers", 4, "blocks"),
                        ModelOption.size("hidden", 128, "width of the residual stream, a multiple of heads"),
                        ModelOption.size("heads", 4, "attention heads"),
                        ModelOption.size("seq", 64, "tokens of a sequence"),
                        ModelOption.size("batch", 8, "sequences of a step"),
                        ModelOption.size("vocab", 256, "different tokens"),
                        ModelOption.size("expand", 4, "width of an expert in units of hidden"),
                        ModelOption.size("experts", 8, "experts of a mixture, at least 2"),
                        ModelOption.count(
                                "groups",
                                0,
                                "groups of sequences that share capacity, a divisor of batch; 0 for one per sequence"),
                        ModelOption.size(
                                "capacityFactor",
                                2,
                                "room of an expert, in units of tokens / experts of a group; a whole number of at least 1"),
                        ModelOption.size("every", 2, "each block of this number has a mixture, the others an MLP"),
                        ModelOption.choice("activation", "gelu", Layers.ACTIVATIONS, "of MLP and experts"),
                        ModelOption.flag("tied", true, "whether logits use the token embedding")),
                "adam",
                "0.001");
    }

    @Override
    public Model build(ModelOptions options) {
        options.mustDivide("hidden", "heads");
        if (options.integer("experts") < 2) {
            throw options.refusal("experts", "be at least 2");
        }
        if (options.integer("groups") > 0) {
            options.mustDivide("batch", "groups");
        }
        if (options.integer("every") > options.integer("layers")) {
            throw options.refusal("every", "be at most layers (" + options.integer("layers") + ")");
        }
        long batch = options.integer("batch");
        long seq = options.integer("seq");
        ArrayShape tokens = ArrayShape.of(DType.S32, batch, seq);
        return ModelAssembly.assemble(
                options,
                List.of(
                        new BatchInput("tokens", tokens, BatchInput.Kind.TOKENS, options.integer("vocab")),
                        new BatchInput("labels", tokens, BatchInput.Kind.NEXT_TOKENS, options.integer("vocab"))),
                (layers, weights, data) -> new Body(options, layers, weights).build(data),
                batch * seq,
                "token");
    }

    private static final class Body {
        private final ModelOptions options;
        private final Layers layers;
        private final OpBuilder ops;
        private final Weights weights;
        private final long hidden;
        private final long inner;
        private final long experts;
        private final double residualStd;
        private final List<Instruction> balanceLosses = new ArrayList<>();

        Body(ModelOptions options, Layers layers, Weights weights) {
            this.options = options;
            this.layers = layers;
            this.ops = layers.ops();
            this.weights = weights;
            this.hidden = options.integer("hidden");
            this.inner = hidden * options.integer("expand");
            this.experts = options.integer("experts");
            this.residualStd = STD / Math.sqrt(2.0 * options.integer("layers"));
        }

        ModelBody.Result build(List<Instruction> data) {
            Transformer transformer = new Transformer(
                    layers, weights, hidden, options.integer("heads"), options.integer("seq"), residualStd);
            Instruction x = transformer.embed(data.get(0), options.integer("vocab"));
            for (int layer = 0; layer < options.integer("layers"); layer++) {
                String block = "block" + layer;
                x = transformer.attention(x, block);
                Instruction normal = transformer.norm(x, block + ".norm2");
                boolean mixture = (layer + 1) % options.integer("every") == 0;
                x = ops.add(x, mixture ? grouped(normal, block) : mlp(normal, block));
            }
            Instruction logits = transformer.logits(x, options.integer("vocab"), options.flag("tied"));
            Instruction loss = layers.meanAll(layers.crossEntropy(logits, data.get(1)));
            for (Instruction balance : balanceLosses) {
                loss = ops.add(loss, ops.mul(balance, BALANCE_WEIGHT));
            }
            return new ModelBody.Result(logits, loss);
        }

        private Instruction mlp(Instruction x, String block) {
            Instruction up = layers.linear(x, weights.get(block + ".mlp.up", Distribution.normal(STD), hidden, inner));
            return layers.linear(
                    layers.activation(options.text("activation"), up),
                    weights.get(block + ".mlp.down", Distribution.normal(residualStd), inner, hidden));
        }

        /** Merges the sequences of a group. */
        private Instruction grouped(Instruction x, String block) {
            ArrayShape shape = x.array();
            long groups = options.integer("groups") == 0 ? shape.dim(0) : options.integer("groups");
            if (groups == shape.dim(0)) {
                return mixture(x, block);
            }
            Instruction merged = ops.reshape(x, groups, shape.dim(0) / groups * shape.dim(1), hidden);
            return ops.reshape(mixture(merged, block), shape.dims());
        }

        /** What a choice of one expert per token comes to: one-hot over experts, and over places in the expert. */
        private record Choice(Instruction expert, Instruction place) {}

        /**
         * {@code [g s h] -> [g s h]} with g groups of s tokens, e experts with room for c tokens of each group:
         *
         * <pre>
         *   gates    = softmax([g s h] x [h e])                                     [g s e]
         *   first    = the highest gate, second = the highest of the others         one-hot [g s e]
         *   place    = how many tokens before chose the same expert (the second choices come after all first)
         *   combine  = sum over choices of gate * first[g s e] * place[g s c]       [g s e c], 0 where place is not below c
         *   inputs   = (combine > 0) x tokens over s                                [g e c h]
         *   outputs  = expert(inputs), batch e                                      [e g c h]
         *   result   = combine x outputs over (e c)                                 [g s h]
         *   balance  = e * mean over g of sum over e of mean(first) * mean(gates)
         * </pre>
         */
        private Instruction mixture(Instruction x, String block) {
            long tokens = x.array().dim(1);
            long capacity = Math.min(tokens, Math.max(1, -(-tokens * options.integer("capacityFactor") / experts)));
            Instruction router = weights.get(block + ".moe.router", Distribution.normal(STD), hidden, experts);
            Instruction gates = layers.softmax(layers.toStatistics(layers.linear(x, router)));
            ArrayShape shape = gates.array();
            DType dtype = shape.dtype();
            Instruction firstMask = layers.oneHot(layers.argMaxLast(gates), experts);
            Instruction rest = ops.select(firstMask, ops.constant(dtype, -1), gates);
            Instruction first = ops.convert(firstMask, dtype);
            Instruction second = ops.convert(layers.oneHot(layers.argMaxLast(rest), experts), dtype);
            Instruction firstGate = ops.sum(ops.mul(gates, first), 2);
            Instruction secondGate = ops.sum(ops.mul(gates, second), 2);
            Instruction both = ops.add(firstGate, secondGate);
            Instruction before = tokensBefore(tokens, dtype);
            Instruction firstCount = ops.sum(first, 1);
            Instruction firstPlace = place(first, before, null, capacity);
            Instruction secondPlace = place(second, before, firstCount, capacity);
            Instruction combine = ops.add(
                    combination(ops.div(firstGate, both), new Choice(first, firstPlace)),
                    combination(ops.div(secondGate, both), new Choice(second, secondPlace)));
            balanceLosses.add(balance(gates, firstCount));
            Instruction dispatch = layers.gradients()
                    .stop(layers.toCompute(ops.convert(ops.compare(combine, 0, Compare.Direction.GT), dtype)));
            Instruction inputs = ops.dot(dispatch, layers.toCompute(x), List.of(0), List.of(0), List.of(1), List.of(1));
            Instruction outputs = expert(inputs, block);
            return ops.dot(layers.toCompute(combine), outputs, List.of(0), List.of(1), List.of(2, 3), List.of(0, 2));
        }

        /** {@code [s, t]}: 1 where token t comes before token s. A dot with it counts along the group. */
        private Instruction tokensBefore(long tokens, DType dtype) {
            ArrayShape indexes = ArrayShape.of(DType.S32, tokens, tokens);
            return ops.convert(ops.compare(ops.iota(indexes, 0), ops.iota(indexes, 1), Compare.Direction.GT), dtype);
        }

        /** One-hot over the places of the chosen expert, all zero where it is full: {@code [g s c]}. */
        private Instruction place(Instruction choice, Instruction before, @Nullable Instruction taken, long capacity) {
            ArrayShape shape = choice.array();
            // [g e s], as the contracted dim leaves the middle.
            Instruction counts =
                    ops.transpose(ops.dot(choice, before, List.of(), List.of(), List.of(1), List.of(1)), 0, 2, 1);
            Instruction offset = taken == null ? counts : ops.add(counts, ops.broadcast(taken, shape.dims(), 0, 2));
            Instruction place = ops.convert(ops.sum(ops.mul(offset, choice), 2), DType.S32);
            return ops.convert(layers.oneHot(place, capacity), shape.dtype());
        }

        /** {@code gate [g s] * expert [g s e] * place [g s c] -> [g s e c]}. */
        private Instruction combination(Instruction gate, Choice choice) {
            ArrayShape byExpert = choice.expert().array();
            ArrayShape shape = ArrayShape.of(
                    byExpert.dtype(),
                    byExpert.dim(0),
                    byExpert.dim(1),
                    byExpert.dim(2),
                    choice.place().array().dim(2));
            Instruction weighted = ops.mul(choice.expert(), ops.broadcast(gate, byExpert.dims(), 0, 1));
            return ops.mul(
                    ops.broadcast(weighted, shape.dims(), 0, 1, 2),
                    ops.broadcast(choice.place(), shape.dims(), 0, 1, 3));
        }

        private Instruction balance(Instruction gates, Instruction firstCount) {
            long tokens = gates.array().dim(1);
            Instruction gateSums = ops.sum(gates, 1);
            Instruction products = ops.sumAll(ops.mul(gateSums, firstCount));
            double perGroup = (double) experts / ((double) tokens * tokens);
            return ops.mul(products, perGroup / gates.array().dim(0));
        }

        private Instruction expert(Instruction inputs, String block) {
            Instruction up = weights.get(block + ".moe.up", Distribution.normal(STD), experts, hidden, inner);
            Instruction down =
                    weights.get(block + ".moe.down", Distribution.normal(residualStd), experts, inner, hidden);
            Instruction wide = ops.dot(inputs, layers.toCompute(up), List.of(1), List.of(0), List.of(3), List.of(1));
            return ops.dot(
                    layers.activation(options.text("activation"), wide),
                    layers.toCompute(down),
                    List.of(0),
                    List.of(0),
                    List.of(3),
                    List.of(1));
        }
    }
}
