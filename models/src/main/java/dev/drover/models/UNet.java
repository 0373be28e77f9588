package dev.drover.models;

import dev.drover.ir.graph.Instruction;
import dev.drover.ir.init.Distribution;
import dev.drover.ir.ops.ConvDims;
import dev.drover.ir.ops.Convolution;
import dev.drover.ir.ops.OpBuilder;
import dev.drover.ir.ops.Window;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;

/**
 * A U-Net that learns to find the noise in a noisy image (Ho et al., NeurIPS 2020, without attention): residual blocks of group
 * normalization, SiLU and 3x3 convolutions that are told the noise level, halved and doubled resolutions, skip connections. Images are
 * {@code [batch, channels, height, width]}. All statistics are per sample, so that micro-batches are exact.
 */
final class UNet implements ModelKind {
    private static final ConvDims DIMS = ConvDims.parse("bf01_oi01->bf01");

    @Override
    public String name() {
        return "unet";
    }

    @Override
    public String description() {
        return "convolutional U-Net, denoising loss";
    }

    @Override
    public String example() {
        return "unet:size=32,width=32,levels=3,batch=8";
    }

    @Override
    public List<ModelOption> options() {
        return ModelAssembly.withTraining(
                List.of(
                        ModelOption.size("size", 32, "height and width of an image, a multiple of 2^(levels - 1)"),
                        ModelOption.size("channels", 3, "channels of an image"),
                        ModelOption.size(
                                "width",
                                32,
                                "channels of the first level, a multiple of groups; each level doubles them"),
                        ModelOption.size("levels", 3, "resolutions"),
                        ModelOption.depth("blocks", 1, "residual blocks of a level, on the way down and on the way up"),
                        ModelOption.size("groups", 8, "groups of a group normalization"),
                        ModelOption.size("batch", 8, "images of a step")),
                "adam",
                "0.001");
    }

    @Override
    public Model build(ModelOptions options) {
        if (options.integer("levels") > 16) {
            throw options.refusal("levels", "be at most 16");
        }
        options.mustDivide("size", 1 << (options.integer("levels") - 1), "2^(levels - 1)");
        options.mustDivide("width", "groups");
        long batch = options.integer("batch");
        long size = options.integer("size");
        DType dtype = ModelAssembly.masterType(options);
        ArrayShape images = ArrayShape.of(dtype, batch, options.integer("channels"), size, size);
        return ModelAssembly.assemble(
                options,
                List.of(
                        new BatchInput("images", images, BatchInput.Kind.IMAGES, 0),
                        new BatchInput("noise", images, BatchInput.Kind.NORMAL_NOISE, 0),
                        new BatchInput("level", ArrayShape.of(dtype, batch), BatchInput.Kind.UNIFORM, 0)),
                (layers, weights, data) -> new Body(options, layers, weights).build(data),
                batch,
                "image");
    }

    private static final class Body {
        private final ModelOptions options;
        private final Layers layers;
        private final OpBuilder ops;
        private final Weights weights;
        private final long width;

        Body(ModelOptions options, Layers layers, Weights weights) {
            this.options = options;
            this.layers = layers;
            this.ops = layers.ops();
            this.weights = weights;
            this.width = options.integer("width");
        }

        /**
         * Level l has {@code width * 2^l} channels at {@code size / 2^l}:
         *
         * <pre>
         *   conv - block --------------------------- concat - block - norm - silu - conv
         *             \ halve                         / double
         *              block ------------ concat - block
         *                 \ halve          / double
         *                  block - block - concat - block
         * </pre>
         */
        ModelBody.Result build(List<Instruction> data) {
            Instruction noise = data.get(1);
            Instruction level = data.get(2);
            Instruction noisy = layers.toCompute(mixed(data.get(0), noise, level));
            Instruction embedding = embedding(level);
            int levels = options.integer("levels");
            int blocks = options.integer("blocks");
            Deque<Instruction> skips = new ArrayDeque<>();
            Instruction x = convolution(noisy, "in", width, 3, 1);
            for (int l = 0; l < levels; l++) {
                for (int b = 0; b < blocks; b++) {
                    x = block(x, embedding, "down" + l + "." + b, width << l);
                    skips.push(x);
                }
                if (l < levels - 1) {
                    x = convolution(x, "halve" + l, width << l, 3, 2);
                }
            }
            x = block(x, embedding, "middle", width << (levels - 1));
            for (int l = levels - 1; l >= 0; l--) {
                for (int b = 0; b < blocks; b++) {
                    x = ops.concat(1, List.of(x, skips.pop()));
                    x = block(x, embedding, "up" + l + "." + b, width << l);
                }
                if (l > 0) {
                    x = convolution(doubled(x), "double" + l, width << (l - 1), 3, 1);
                }
            }
            Instruction out = convolution(layers.silu(norm(x, "out.norm")), "out", options.integer("channels"), 3, 1);
            Instruction difference = ops.sub(layers.toStatistics(out), noise);
            return new ModelBody.Result(out, layers.meanAll(layers.square(difference)));
        }

        /** {@code cos(level * pi / 2) * image + sin(level * pi / 2) * noise}. */
        private Instruction mixed(Instruction images, Instruction noise, Instruction level) {
            Instruction angle = ops.mul(level, Math.PI / 2);
            return ops.add(
                    ops.mul(images, ops.broadcast(ops.cos(angle), images.array().dims(), 0)),
                    ops.mul(noise, ops.broadcast(ops.sin(angle), images.array().dims(), 0)));
        }

        /** {@code [batch, 4 * width]} from sines and cosines of the level at frequencies from 1 to 1000. */
        private Instruction embedding(Instruction level) {
            ArrayShape shape =
                    ArrayShape.of(level.array().dtype(), level.array().dim(0), width);
            Instruction exponents = ops.mul(ops.iota(shape, 1), Math.log(1000) / width);
            Instruction angles = ops.mul(ops.exp(exponents), ops.broadcast(level, shape.dims(), 0));
            Instruction features = ops.concat(1, List.of(ops.sin(angles), ops.cos(angles)));
            Instruction weight =
                    weights.get("embed.weight", Distribution.normal(1 / Math.sqrt(2.0 * width)), 2 * width, 4 * width);
            Instruction bias = weights.get("embed.bias", Distribution.zeros(), 4 * width);
            return layers.silu(layers.plusVector(layers.linear(features, weight), bias, 1));
        }

        private Instruction block(Instruction x, Instruction embedding, String name, long channels) {
            Instruction h = convolution(layers.silu(norm(x, name + ".norm1")), name + ".conv1", channels, 3, 1);
            Instruction shift = layers.linear(
                    embedding,
                    weights.get(name + ".embed", Distribution.normal(1 / Math.sqrt(4.0 * width)), 4 * width, channels));
            h = ops.add(h, ops.broadcast(shift, h.array().dims(), 0, 1));
            h = convolution(layers.silu(norm(h, name + ".norm2")), name + ".conv2", channels, 3, 1);
            Instruction beside = x.array().dim(1) == channels ? x : convolution(x, name + ".beside", channels, 1, 1);
            return ops.add(h, beside);
        }

        private Instruction norm(Instruction x, String name) {
            long channels = x.array().dim(1);
            return layers.groupNorm(
                    x,
                    weights.get(name + ".scale", Distribution.ones(), channels),
                    weights.get(name + ".bias", Distribution.zeros(), channels),
                    options.integer("groups"));
        }

        private Instruction convolution(Instruction x, String name, long channels, int kernel, int stride) {
            long from = x.array().dim(1);
            double std = 1 / Math.sqrt((double) from * kernel * kernel);
            Instruction weight = weights.get(name, Distribution.normal(std), channels, from, kernel, kernel);
            Window.Dim dim = new Window.Dim(kernel, stride, kernel / 2, kernel / 2);
            Convolution op = new Convolution(
                    new Window(List.of(dim, dim)), DIMS, 1, 1, x.array().dtype());
            return ops.builder().add(op, x, layers.toCompute(weight));
        }

        /** Each pixel becomes four. */
        private Instruction doubled(Instruction x) {
            ArrayShape from = x.array();
            ArrayShape wide = ArrayShape.of(from.dtype(), from.dim(0), from.dim(1), from.dim(2), 2, from.dim(3), 2);
            return ops.reshape(
                    ops.broadcast(x, wide.dims(), 0, 1, 2, 4),
                    from.dim(0),
                    from.dim(1),
                    2 * from.dim(2),
                    2 * from.dim(3));
        }
    }
}
