package dev.drover.models;

import dev.drover.ir.grad.Gradients;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.Compare;
import dev.drover.ir.ops.Gather;
import dev.drover.ir.ops.GatherDims;
import dev.drover.ir.ops.OpBuilder;
import dev.drover.ir.ops.Reduction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/**
 * The layers that models are made of, each with a gradient of its own where that is leaner than the one its ops would give. The
 * shapes of these graphs, forward and backward, are stable, so that a backend may look for them (docs/models-zoo.md).
 *
 * <p>Matrix products run in the compute type; softmax, normalization and losses in the statistics type, f32 (f64 if the compute type is).
 */
final class Layers {
    private final OpBuilder ops;
    private final Gradients gradients;
    private final DType compute;
    private final DType statistics;

    Layers(OpBuilder ops, Gradients gradients, DType compute) {
        this.ops = ops;
        this.gradients = gradients;
        this.compute = compute;
        this.statistics = compute == DType.F64 ? DType.F64 : DType.F32;
    }

    OpBuilder ops() {
        return ops;
    }

    Gradients gradients() {
        return gradients;
    }

    DType statisticsType() {
        return statistics;
    }

    Instruction toCompute(Instruction x) {
        return converted(x, compute);
    }

    Instruction toStatistics(Instruction x) {
        return converted(x, statistics);
    }

    private Instruction converted(Instruction x, DType dtype) {
        return x.array().dtype() == dtype ? x : ops.convert(x, dtype);
    }

    /** Repeats a value without the last dim of a shape along it. */
    private Instruction alongLast(Instruction x, ArrayShape shape) {
        return ops.broadcastAlong(x, shape, List.of(shape.rank() - 1));
    }

    /** Repeats a vector along all dims of a shape but one. */
    Instruction alongAllBut(Instruction vector, ArrayShape shape, int dim) {
        return ops.broadcast(vector, shape.dims(), dim);
    }

    private static List<Integer> allBut(int rank, int dim) {
        return IntStream.range(0, rank).filter(d -> d != dim).boxed().toList();
    }

    /** {@code [.., k] x [k, ..]}: contracts the last dim with a weight's first. */
    Instruction linear(Instruction x, Instruction weight) {
        return ops.dot(
                toCompute(x),
                toCompute(weight),
                List.of(),
                List.of(),
                List.of(x.array().rank() - 1),
                List.of(0));
    }

    /** Adds a vector along a dim. */
    Instruction plusVector(Instruction x, Instruction vector, int dim) {
        return ops.add(x, alongAllBut(converted(vector, x.array().dtype()), x.array(), dim));
    }

    /**
     * Layer normalization over the last dim: {@code n = (x - mean) * rsqrt(var + 1e-5), y = n * scale + bias}, with the gradient
     * {@code dn = g * scale, dx = (dn - mean(dn) - n * mean(dn * n)) * rsqrt(..)}.
     */
    Instruction layerNorm(Instruction input, Instruction scale, Instruction bias) {
        Instruction x = toStatistics(input);
        ArrayShape shape = x.array();
        int last = shape.rank() - 1;
        Instruction centered = ops.sub(x, alongLast(meanLast(x), shape));
        Instruction variance = meanLast(ops.mul(centered, centered));
        Instruction inverse = alongLast(ops.rsqrt(ops.add(variance, 1e-5)), shape);
        Instruction normal = ops.mul(centered, inverse);
        Instruction scaleAlong = alongAllBut(toStatistics(scale), shape, last);
        Instruction output =
                toCompute(ops.add(ops.mul(normal, scaleAlong), alongAllBut(toStatistics(bias), shape, last)));
        return gradients.composite(output, List.of(input, scale, bias), cotangent -> {
            Instruction g = toStatistics(cotangent);
            Instruction dBias = ops.sum(g, allBut(shape.rank(), last));
            Instruction dScale = ops.sum(ops.mul(g, normal), allBut(shape.rank(), last));
            Instruction dNormal = ops.mul(g, scaleAlong);
            Instruction mean = alongLast(meanLast(dNormal), shape);
            Instruction slope = alongLast(meanLast(ops.mul(dNormal, normal)), shape);
            Instruction dX = ops.mul(ops.sub(ops.sub(dNormal, mean), ops.mul(normal, slope)), inverse);
            return Arrays.asList(
                    converted(dX, input.array().dtype()),
                    converted(dScale, scale.array().dtype()),
                    converted(dBias, bias.array().dtype()));
        });
    }

    private Instruction meanLast(Instruction x) {
        int last = x.array().rank() - 1;
        return ops.mul(ops.sum(x, last), 1.0 / x.array().dim(last));
    }

    /**
     * Group normalization of {@code [batch, channels, height, width]}: each group of channels of each sample is normalized by itself,
     * then each channel scaled and shifted. Reads and writes the compute type.
     */
    Instruction groupNorm(Instruction input, Instruction scale, Instruction bias, int groups) {
        ArrayShape whole = input.array();
        long inGroup = whole.dim(1) / groups * whole.dim(2) * whole.dim(3);
        Instruction x = ops.reshape(toStatistics(input), whole.dim(0), groups, inGroup);
        ArrayShape shape = x.array();
        ArrayShape full = whole.withDType(statistics);
        Instruction centered = ops.sub(x, alongLast(meanLast(x), shape));
        Instruction variance = meanLast(ops.mul(centered, centered));
        Instruction inverse = alongLast(ops.rsqrt(ops.add(variance, 1e-5)), shape);
        Instruction normal = ops.mul(centered, inverse);
        Instruction normalFull = ops.reshape(normal, full.dims());
        Instruction scaleAlong = alongAllBut(toStatistics(scale), full, 1);
        Instruction output =
                toCompute(ops.add(ops.mul(normalFull, scaleAlong), alongAllBut(toStatistics(bias), full, 1)));
        return gradients.composite(output, List.of(input, scale, bias), cotangent -> {
            Instruction g = toStatistics(cotangent);
            Instruction dBias = ops.sum(g, 0, 2, 3);
            Instruction dScale = ops.sum(ops.mul(g, normalFull), 0, 2, 3);
            Instruction dNormal = ops.reshape(ops.mul(g, scaleAlong), shape.dims());
            Instruction mean = alongLast(meanLast(dNormal), shape);
            Instruction slope = alongLast(meanLast(ops.mul(dNormal, normal)), shape);
            Instruction dX = ops.mul(ops.sub(ops.sub(dNormal, mean), ops.mul(normal, slope)), inverse);
            return Arrays.asList(
                    converted(ops.reshape(dX, whole.dims()), whole.dtype()),
                    converted(dScale, scale.array().dtype()),
                    converted(dBias, bias.array().dtype()));
        });
    }

    /**
     * Softmax over the last dim, stable: {@code e = exp(x - max), y = e / sum(e)}, with the gradient {@code dx = (g - sum(g * y)) * y}.
     */
    Instruction softmax(Instruction input) {
        Instruction x = toStatistics(input);
        ArrayShape shape = x.array();
        int last = shape.rank() - 1;
        Instruction e = ops.exp(ops.sub(x, alongLast(ops.maxOver(x, last), shape)));
        Instruction y = ops.div(e, alongLast(ops.sum(e, last), shape));
        Instruction output = converted(y, input.array().dtype());
        return gradients.composite(output, List.of(input), cotangent -> {
            Instruction g = toStatistics(cotangent);
            Instruction inner = alongLast(ops.sum(ops.mul(g, y), last), shape);
            return List.of(
                    converted(ops.mul(ops.sub(g, inner), y), input.array().dtype()));
        });
    }

    /**
     * The cross-entropy of each position, {@code [.., classes] and s32 [..] -> [..]}: {@code log(sum(exp(z))) - z[label]} with
     * {@code z = x - max}. The label's part is picked by comparison with an iota, so that classes may be cut. Gradient: {@code g *
     * (softmax(x) - onehot)}.
     */
    Instruction crossEntropy(Instruction logits, Instruction labels) {
        Instruction x = toStatistics(logits);
        ArrayShape shape = x.array();
        int last = shape.rank() - 1;
        Instruction z = ops.sub(x, alongLast(ops.maxOver(x, last), shape));
        Instruction e = ops.exp(z);
        Instruction sum = ops.sum(e, last);
        Instruction isLabel = ops.equal(ops.iota(shape.withDType(DType.S32), last), alongLast(labels, shape));
        Instruction zeros = ops.zeros(shape);
        Instruction picked = ops.sum(ops.select(isLabel, z, zeros), last);
        Instruction loss = ops.sub(ops.log(sum), picked);
        return gradients.composite(loss, List.of(logits), g -> {
            Instruction probability = ops.mul(e, alongLast(ops.div(g, sum), shape));
            Instruction d = ops.sub(probability, ops.select(isLabel, alongLast(g, shape), zeros));
            return List.of(converted(d, logits.array().dtype()));
        });
    }

    /** The sum of all elements over a constant: exact under micro-batching. */
    Instruction meanAll(Instruction x) {
        return ops.mul(ops.sumAll(x), 1.0 / x.array().elements());
    }

    /** {@code x * x}; gradient: {@code g * 2x}. */
    Instruction square(Instruction x) {
        return gradients.composite(ops.mul(x, x), List.of(x), g -> List.of(ops.mul(g, ops.mul(x, 2))));
    }

    /** The activation of a name. */
    Instruction activation(String name, Instruction x) {
        return switch (name) {
            case "gelu" -> gelu(x);
            case "relu" -> relu(x);
            case "silu" -> silu(x);
            default -> throw new IllegalArgumentException("The activation (" + name + ") must be gelu, relu or silu.");
        };
    }

    static final List<String> ACTIVATIONS = List.of("gelu", "relu", "silu");

    /**
     * GELU in its tanh form, written with a logistic function, as {@code (1 + tanh(u)) / 2 = logistic(2u)}: {@code y = x * s, s =
     * logistic(x * (k1 + k3 * x^2))}. Gradient: {@code g * (s + (y - y * s) * (k1 + 3 * k3 * x^2))}.
     */
    private Instruction gelu(Instruction x) {
        double k1 = 2 * Math.sqrt(2 / Math.PI);
        double k3 = k1 * 0.044715;
        Instruction cubic = ops.mul(ops.mul(x, x), k3);
        Instruction s = ops.logistic(ops.mul(x, ops.add(cubic, k1)));
        Instruction y = ops.mul(x, s);
        return gradients.composite(y, List.of(x), g -> {
            Instruction slope = ops.add(ops.mul(cubic, 3), k1);
            Instruction d = ops.add(s, ops.mul(ops.sub(y, ops.mul(y, s)), slope));
            return List.of(ops.mul(g, d));
        });
    }

    /** {@code max(x, 0)}; gradient: g where x is above 0. */
    private Instruction relu(Instruction x) {
        Instruction zeros = ops.zeros(x.array());
        Instruction y = ops.max(x, zeros);
        return gradients.composite(
                y, List.of(x), g -> List.of(ops.select(ops.compare(x, zeros, Compare.Direction.GT), g, zeros)));
    }

    /** {@code y = x * s, s = logistic(x)}; gradient: {@code g * (s + y - y * s)}. */
    Instruction silu(Instruction x) {
        Instruction s = ops.logistic(x);
        Instruction y = ops.mul(x, s);
        return gradients.composite(y, List.of(x), g -> List.of(ops.mul(g, ops.add(s, ops.sub(y, ops.mul(y, s))))));
    }

    /** Rows of a table, {@code [rows, width] and s32 [..] -> [.., width]}, in the compute type. */
    Instruction embedding(Instruction table, Instruction indices) {
        long width = table.array().dim(1);
        int rank = indices.array().rank();
        GatherDims dims = new GatherDims(List.of(rank), List.of(0), List.of(0), rank);
        return ops.builder().add(new Gather(dims, List.of(1L, width)), toCompute(table), indices);
    }

    /** The position of the largest element along the last dim (the first of equals) as s32, without a gradient. */
    Instruction argMaxLast(Instruction x) {
        ArrayShape shape = x.array();
        int last = shape.rank() - 1;
        Instruction isMax = ops.equal(x, alongLast(ops.maxOver(x, last), shape));
        ArrayShape indexes = shape.withDType(DType.S32);
        Instruction past = ops.broadcastTo(ops.constant(DType.S32, (double) shape.dim(last)), indexes);
        return ops.reduce(Reduction.MIN, ops.select(isMax, ops.iota(indexes, last), past), List.of(last));
    }

    /** {@code [..] -> pred [.., size]}: true at the element's value. */
    Instruction oneHot(Instruction indices, long size) {
        ArrayShape from = indices.array();
        List<Long> dims = new ArrayList<>();
        for (long dim : from.dims()) {
            dims.add(dim);
        }
        dims.add(size);
        ArrayShape shape = ArrayShape.of(
                from.dtype(), dims.stream().mapToLong(Long::longValue).toArray());
        return ops.equal(ops.iota(shape, shape.rank() - 1), alongLast(indices, shape));
    }
}
