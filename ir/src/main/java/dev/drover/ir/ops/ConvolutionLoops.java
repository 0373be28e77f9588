package dev.drover.ir.ops;

import dev.drover.ir.eval.Literal;
import dev.drover.ir.type.ArrayShape;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Evaluates one convolution. Operands are packed as input {@code [N, S.., C]} and kernel {@code [K.., I, F]}; the inner loop runs
 * along output features. Products of padding and holes are left out where the kernel is finite: they are zeros.
 */
final class ConvolutionLoops {
    private final Convolution op;
    private final ConvDims dims;
    private final ArrayShape result;
    private final long[] inSpatial;
    private final long[] outSpatial;
    private final long[] taps;
    private final int batch;
    private final int features;
    private final int outputs;
    private final int perGroup;
    private final double[] input;
    private final double[] kernel;
    private final boolean finiteKernel;

    ConvolutionLoops(Convolution op, ArrayShape result, Literal input, Literal kernel) {
        this.op = op;
        this.dims = op.dims();
        this.result = result;
        ArrayShape in = input.shape();
        ArrayShape ker = kernel.shape();
        if (result.dtype().isComplex()) {
            throw new IllegalArgumentException(
                    "The type (" + result.dtype().hloName() + ") of an evaluated convolution must be real.");
        }
        this.inSpatial = Walk.pick(in.dims(), dims.inputSpatial());
        this.outSpatial = Walk.pick(result.dims(), dims.outputSpatial());
        this.taps = Walk.pick(ker.dims(), dims.kernelSpatial());
        this.batch = (int) in.dim(dims.inputBatch());
        this.features = (int) in.dim(dims.inputFeature());
        this.outputs = (int) ker.dim(dims.kernelOutput());
        this.perGroup = (int) ker.dim(dims.kernelInput());
        this.input = packed(input, dims.inputBatch(), dims.inputSpatial(), dims.inputFeature());
        List<Integer> kernelOrder = new ArrayList<>(dims.kernelSpatial());
        kernelOrder.add(dims.kernelInput());
        kernelOrder.add(dims.kernelOutput());
        this.kernel = packed(kernel, kernelOrder);
        this.finiteKernel = Arrays.stream(this.kernel).allMatch(Double::isFinite);
    }

    private static double[] packed(Literal literal, int first, List<Integer> middle, int last) {
        List<Integer> order = new ArrayList<>();
        order.add(first);
        order.addAll(middle);
        order.add(last);
        return packed(literal, order);
    }

    private static double[] packed(Literal literal, List<Integer> order) {
        ArrayShape shape = literal.shape();
        Walk walk = new Walk(Walk.pick(shape.dims(), order), Walk.pick(shape.strides(), order));
        double[] out = new double[literal.size()];
        int at = 0;
        for (boolean more = walk.any(); more; more = walk.next()) {
            out[at++] = literal.asDouble(walk.offset(0));
        }
        return out;
    }

    Literal run() {
        int spatial = taps.length;
        int outPositions = (int) Walk.product(outSpatial);
        int inPositions = (int) Walk.product(inSpatial);
        int outBatch = batch / (int) op.batchGroups();
        double[] out = new double[outBatch * outPositions * outputs];
        // inputAt[dim][output * taps + tap]: input element along a dim, or -1
        int[][] inputAt = new int[spatial][];
        for (int d = 0; d < spatial; d++) {
            inputAt[d] = inputElements(op.window().dim(d), inSpatial[d], outSpatial[d]);
        }
        long[] none = new long[spatial];
        Walk position = new Walk(outSpatial, none);
        int o = 0;
        for (boolean more = position.any(); more; more = position.next()) {
            Walk tap = new Walk(taps, none);
            int t = 0;
            for (boolean moreTaps = tap.any(); moreTaps; moreTaps = tap.next()) {
                int at = 0;
                for (int d = 0; d < spatial && at >= 0; d++) {
                    int element = inputAt[d][(int) (position.index(d) * taps[d] + tap.index(d))];
                    at = element < 0 ? -1 : at * (int) inSpatial[d] + element;
                }
                if (at >= 0 || !finiteKernel) {
                    for (int n = 0; n < outBatch; n++) {
                        multiply(out, (n * outPositions + o) * outputs, n, outBatch, inPositions, at, t);
                    }
                }
                t++;
            }
            o++;
        }
        return unpacked(out);
    }

    /**
     * Adds the products of one (batch entry, output position, kernel position) to all output features.
     *
     * @param inPosition -1 for padding or a hole, which is zero
     */
    private void multiply(double[] out, int outAt, int n, int outBatch, int inPositions, int inPosition, int tap) {
        int groups = (int) (op.featureGroups() * op.batchGroups());
        int width = outputs / groups;
        int kernelBase = tap * perGroup * outputs;
        for (int g = 0; g < groups; g++) {
            int entry = op.batchGroups() > 1 ? g * outBatch + n : n;
            int firstFeature = op.featureGroups() > 1 ? g * perGroup : 0;
            int inAt = (entry * inPositions + inPosition) * features + firstFeature;
            int to = outAt + g * width;
            for (int i = 0; i < perGroup; i++) {
                double x = inPosition < 0 ? 0 : input[inAt + i];
                int from = kernelBase + i * outputs + g * width;
                for (int f = 0; f < width; f++) {
                    out[to + f] += x * kernel[from + f];
                }
            }
        }
    }

    private static int[] inputElements(Window.Dim window, long inputs, long outputs) {
        int[] at = new int[(int) (outputs * window.size())];
        for (int o = 0; o < outputs; o++) {
            for (int k = 0; k < window.size(); k++) {
                long tap = window.reversed() ? window.size() - 1 - k : k;
                at[(int) (o * window.size() + k)] = (int) window.input(o, tap, inputs);
            }
        }
        return at;
    }

    /** From [N, O.., F] to the result's order of dims. */
    private Literal unpacked(double[] packed) {
        List<Integer> order = new ArrayList<>();
        order.add(dims.outputBatch());
        order.addAll(dims.outputSpatial());
        order.add(dims.outputFeature());
        Walk walk = new Walk(Walk.pick(result.dims(), order), Walk.pick(result.strides(), order));
        double[] values = new double[packed.length];
        int at = 0;
        for (boolean more = walk.any(); more; more = walk.next()) {
            values[walk.offset(0)] = packed[at++];
        }
        if (result.dtype().isFloat()) {
            return Literal.ofDoubles(result, values);
        }
        return Literal.ofLongs(
                result, Arrays.stream(values).mapToLong(v -> (long) v).toArray());
    }
}
