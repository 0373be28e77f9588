package dev.drover.models;

import dev.drover.ir.graph.Instruction;
import dev.drover.ir.init.Distribution;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import java.util.List;

/** Fully connected layers with biases, and a classifier on top. */
final class Mlp implements ModelKind {

    @Override
    public String name() {
        return "mlp";
    }

    @Override
    public String description() {
        return "multi-layer perceptron, classification loss";
    }

    @Override
    public String example() {
        return "mlp:layers=4,hidden=256,batch=64";
    }

    @Override
    public List<ModelOption> options() {
        return ModelAssembly.withTraining(
                List.of(
                        ModelOption.depth("layers", 4, "hidden layers"),
                        ModelOption.size("hidden", 256, "width of a hidden layer"),
                        ModelOption.size("batch", 64, "samples of a step"),
                        ModelOption.size("features", 64, "numbers of a sample"),
                        ModelOption.size("classes", 10, "different labels"),
                        ModelOption.choice("activation", "relu", Layers.ACTIVATIONS, "of the hidden layers")),
                "adam",
                "0.001");
    }

    @Override
    public Model build(ModelOptions options) {
        long batch = options.integer("batch");
        DType dtype = ModelAssembly.masterType(options);
        return ModelAssembly.assemble(
                options,
                List.of(
                        new BatchInput(
                                "features",
                                ArrayShape.of(dtype, batch, options.integer("features")),
                                BatchInput.Kind.FEATURES,
                                0),
                        new BatchInput(
                                "labels",
                                ArrayShape.of(DType.S32, batch),
                                BatchInput.Kind.CLASSES,
                                options.integer("classes"))),
                (layers, weights, data) -> body(options, layers, weights, data),
                batch,
                "sample");
    }

    private static ModelBody.Result body(ModelOptions options, Layers layers, Weights weights, List<Instruction> data) {
        long hidden = options.integer("hidden");
        Instruction x = layers.toCompute(data.get(0));
        for (int layer = 0; layer < options.integer("layers"); layer++) {
            x = layers.activation(options.text("activation"), affine(layers, weights, x, "layer" + layer, hidden));
        }
        Instruction logits = affine(layers, weights, x, "head", options.integer("classes"));
        return new ModelBody.Result(logits, layers.meanAll(layers.crossEntropy(logits, data.get(1))));
    }

    private static Instruction affine(Layers layers, Weights weights, Instruction x, String name, long width) {
        long from = x.array().dim(1);
        Instruction weight = weights.get(name + ".weight", Distribution.normal(Math.sqrt(2.0 / from)), from, width);
        Instruction bias = weights.get(name + ".bias", Distribution.zeros(), width);
        return layers.plusVector(layers.linear(x, weight), bias, 1);
    }
}
