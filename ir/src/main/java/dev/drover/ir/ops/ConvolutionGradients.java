package dev.drover.ir.ops;

import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import java.util.ArrayList;
import java.util.List;

/**
 * The two gradients of a convolution, each again a convolution with a transposed reading of the labels.
 *
 * <pre>
 *   d input  = conv(dz, kernel read backwards): strides and base dilations change places
 *   d kernel = conv(input with batch and feature swapped, dz): strides and window dilations change places
 * </pre>
 *
 * Feature groups of one direction are batch groups of the other.
 */
final class ConvolutionGradients {
    private final Convolution op;
    private final ConvDims dims;
    private final OpBuilder build;
    private final Instruction input;
    private final Instruction kernel;
    private final Instruction dz;
    private final int groups;

    ConvolutionGradients(Convolution op, OpBuilder build, Instruction self, Instruction dz) {
        this.op = op;
        this.dims = op.dims();
        this.build = build;
        this.input = self.operand(0);
        this.kernel = self.operand(1);
        this.dz = dz;
        this.groups = (int) (op.featureGroups() * op.batchGroups());
    }

    private long inputSize(int spatial) {
        return input.array().dim(dims.inputSpatial().get(spatial));
    }

    private long outputSize(int spatial) {
        return dz.array().dim(dims.outputSpatial().get(spatial));
    }

    Instruction ofInput() {
        List<Integer> flipped = new ArrayList<>();
        List<Window.Dim> window = new ArrayList<>();
        for (int d = 0; d < op.window().rank(); d++) {
            Window.Dim w = op.window().dim(d);
            window.add(w.transposed(inputSize(d), outputSize(d)));
            if (!w.reversed() && w.size() > 1) {
                flipped.add(dims.kernelSpatial().get(d));
            }
        }
        Instruction backwards = flipped.isEmpty() ? kernel : build.reverse(kernel, flipped.toArray(Integer[]::new));
        if (groups > 1) {
            // [.., I, .., (g O)] -> [.., (g I), .., O]
            backwards = moveMajor(backwards, dims.kernelOutput(), dims.kernelInput());
        }
        ConvDims labels = new ConvDims(
                /* inputBatch= */ dims.outputBatch(),
                /* inputFeature= */ dims.outputFeature(),
                /* inputSpatial= */ dims.outputSpatial(),
                /* kernelInput= */ dims.kernelOutput(),
                /* kernelOutput= */ dims.kernelInput(),
                /* kernelSpatial= */ dims.kernelSpatial(),
                /* outputBatch= */ dims.inputBatch(),
                /* outputFeature= */ dims.inputFeature(),
                /* outputSpatial= */ dims.inputSpatial());
        Convolution gradient = new Convolution(
                new Window(window), labels, groups, 1, input.array().dtype());
        Instruction result = build.builder().add(gradient, dz, convert(backwards));
        // with batch groups the result is [N / g, .., (g C)]: the group belongs to the batch
        return op.batchGroups() > 1 ? moveMajor(result, dims.inputFeature(), dims.inputBatch()) : result;
    }

    Instruction ofKernel() {
        List<Integer> flipped = new ArrayList<>();
        List<Window.Dim> window = new ArrayList<>();
        for (int d = 0; d < op.window().rank(); d++) {
            Window.Dim w = op.window().dim(d);
            window.add(w.transposedForKernel(inputSize(d), outputSize(d)));
            if (w.reversed()) {
                flipped.add(dims.kernelSpatial().get(d));
            }
        }
        ConvDims labels = new ConvDims(
                /* inputBatch= */ dims.inputFeature(),
                /* inputFeature= */ dims.inputBatch(),
                /* inputSpatial= */ dims.inputSpatial(),
                /* kernelInput= */ dims.outputBatch(),
                /* kernelOutput= */ dims.outputFeature(),
                /* kernelSpatial= */ dims.outputSpatial(),
                /* outputBatch= */ dims.kernelInput(),
                /* outputFeature= */ dims.kernelOutput(),
                /* outputSpatial= */ dims.kernelSpatial());
        Convolution gradient = new Convolution(
                new Window(window),
                labels,
                /* featureGroups= */ op.batchGroups(),
                /* batchGroups= */ op.featureGroups(),
                kernel.array().dtype());
        Instruction result = build.builder().add(gradient, convert(input), dz);
        return flipped.isEmpty() ? result : build.reverse(result, flipped.toArray(Integer[]::new));
    }

    private Instruction convert(Instruction operand) {
        return operand.array().dtype() == dz.array().dtype()
                ? operand
                : build.convert(operand, dz.array().dtype());
    }

    /** Takes the group, the major part of one dim, to be the major part of another: {@code [.., (g a), .., b] -> [.., a, .., (g b)]}. */
    private Instruction moveMajor(Instruction operand, int from, int to) {
        ArrayShape shape = operand.array();
        List<Long> split = new ArrayList<>();
        int[] firstAt = new int[shape.rank()];
        int groupAt = 0;
        for (int d = 0; d < shape.rank(); d++) {
            if (d == from) {
                groupAt = split.size();
                split.add((long) groups);
                split.add(shape.dim(d) / groups);
                firstAt[d] = groupAt + 1;
            } else {
                firstAt[d] = split.size();
                split.add(shape.dim(d));
            }
        }
        List<Integer> order = new ArrayList<>();
        for (int d = 0; d < shape.rank(); d++) {
            if (d == to) {
                order.add(groupAt);
            }
            order.add(firstAt[d]);
        }
        long[] merged = shape.dims();
        merged[from] /= groups;
        merged[to] *= groups;
        return build.reshape(build.transpose(build.reshape(operand, Dims.array(split)), order), merged);
    }
}
