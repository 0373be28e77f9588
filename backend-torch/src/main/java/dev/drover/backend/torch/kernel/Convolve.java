package dev.drover.backend.torch.kernel;

import dev.drover.backend.torch.emit.Emitter;
import dev.drover.backend.torch.emit.Node;
import dev.drover.backend.torch.emit.View;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.ops.ConvDims;
import dev.drover.ir.ops.Convolution;
import dev.drover.ir.ops.Window;
import dev.drover.ir.type.DType;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.bytedeco.javacpp.BoolPointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.LongArrayRefOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptional;
import org.bytedeco.pytorch.global.torch;

/**
 * Convolution with all of HLO's attributes, brought to libtorch's {@code [N, C, S..] * [F, C/groups, K..]}: dims by permuted views,
 * asymmetric or negative padding and base dilation by a padded copy, reversal by a flipped kernel, batch groups by moving them to
 * the features.
 *
 * <p>Where the window is larger than the result, it is the gradient of a convolution by its kernel, written as a convolution:
 * libtorch computes it as such,
 *
 * <pre>  out[b, f, t] = sum_{c, k} in[b, c, t*s + k*d] * kernel[f, c, k]
 *       = dW[f, b, t] for inputs X[c, b, ..] = in, output gradients G[c, f, k] = kernel, stride d, dilation s</pre>
 *
 * <p>libtorch 2.10 brings the channels of a convolution without groups into blocks, and leaves what fills up the last block as it finds
 * it in memory (oneDNN 3.7.1, seen on AVX2 and AVX-512): its result is wrong wherever the channels do not fill their blocks. Here they
 * are filled up with zeros first.
 */
final class Convolve {
    /** Channels come in blocks of 8 (AVX2) or 16 (AVX-512), in bf16 in pairs of such. */
    private static final long BLOCK = 16;

    private static final long BF16_BLOCK = 32;

    /** Up to as many f32 input channels are not brought into blocks, but read as they are. */
    private static final long UNBLOCKED = 8;

    private Convolve() {}

    static void emit(Emitter emitter, Node node) {
        Convolution conv = (Convolution) node.op();
        ConvDims dims = conv.dims();
        int spatial = dims.spatialRank();
        DType dtype = node.shape().dtype();
        boolean native8 = dtype == DType.F8E4M3FN || dtype == DType.F8E5M2;
        if (!dtype.isFloat()
                || spatial == 0
                || spatial > 3
                || node.shape().elements() == 0
                || node.input(0).shape().elements() == 0) {
            HostKernel.KERNEL.emit(emitter, node);
            return;
        }
        View input = permuted(emitter.input(node, 0), dims.inputBatch(), dims.inputFeature(), dims.inputSpatial());
        View kernel = permuted(emitter.input(node, 1), dims.kernelOutput(), dims.kernelInput(), dims.kernelSpatial());
        View result = emitter.result(node);
        View out = permuted(result, dims.outputBatch(), dims.outputFeature(), dims.outputSpatial());
        long groups = Math.max(conv.featureGroups(), conv.batchGroups());
        long[] positions = new long[spatial];
        long outputs = 1;
        List<Integer> reversed = new ArrayList<>();
        for (int d = 0; d < spatial; d++) {
            positions[d] = out.size(d + 2);
            outputs *= positions[d];
            if (conv.window().dim(d).reversed()) {
                reversed.add(d + 2);
            }
        }
        long taps = conv.window().elements();
        boolean kernelGradient = groups == 1 && taps > outputs && taps > 16;
        boolean blocked = groups == 1 && !kernelGradient;
        boolean fewInBf16 = dtype == DType.BF16 && blocked && input.size(1) < BLOCK;
        DType compute = native8 || dtype == DType.F16 || fewInBf16 ? DType.F32 : dtype;
        input = converted(emitter, input, compute);
        kernel = converted(emitter, kernel, compute);
        if (conv.batchGroups() > 1) {
            input = batchGroupsToFeatures(emitter, input, groups);
        }
        kernel = flipped(emitter, kernel, reversed);
        if (blocked) {
            kernel = grown(emitter, kernel, outBlocks(compute, kernel.size(0)), inBlocks(compute, kernel.size(1)));
        }
        multiply(emitter, conv.window(), input, kernel, out, result, groups, kernelGradient, positions);
    }

    private static long inBlocks(DType dtype, long channels) {
        return switch (dtype) {
            case BF16 -> filled(channels, BF16_BLOCK);
            case F32 -> channels <= UNBLOCKED ? channels : filled(channels, BLOCK);
            default -> channels;
        };
    }

    private static long outBlocks(DType dtype, long channels) {
        return dtype == DType.BF16 ? filled(channels, BF16_BLOCK) : channels;
    }

    private static long filled(long channels, long block) {
        return (channels + block - 1) / block * block;
    }

    /** With zeros behind the first two dims. The view itself if there is nothing to fill. */
    private static View grown(Emitter emitter, View view, long first, long second) {
        long[] sizes = view.sizes().clone();
        sizes[0] = first;
        sizes[1] = second;
        Window.Dim[] same = new Window.Dim[sizes.length];
        Arrays.fill(same, Window.Dim.single());
        return Windows.padded(emitter, view, new Window(List.of(same)), sizes, Literal.scalar(view.dtype(), 0));
    }

    private static View permuted(View view, int first, int second, List<Integer> rest) {
        int[] order = new int[rest.size() + 2];
        order[0] = first;
        order[1] = second;
        for (int i = 0; i < rest.size(); i++) {
            order[i + 2] = rest.get(i);
        }
        return view.permute(order);
    }

    private static View converted(Emitter emitter, View view, DType dtype) {
        if (view.dtype() == dtype) {
            return view;
        }
        View copy = emitter.scratch(dtype, view.sizes());
        emitter.copy(view, copy);
        return copy;
    }

    /** {@code [G n, C, S..] -> [n, G C, S..]}. */
    private static View batchGroupsToFeatures(Emitter emitter, View input, long groups) {
        int rank = input.rank();
        long[] split = new long[rank + 1];
        split[0] = groups;
        split[1] = input.size(0) / groups;
        for (int d = 1; d < rank; d++) {
            split[d + 1] = input.size(d);
        }
        View parts = emitter.reshape(input, split);
        int[] order = new int[rank + 1];
        order[0] = 1;
        order[1] = 0;
        long[] merged = new long[rank];
        merged[0] = split[1];
        merged[1] = groups * input.size(1);
        for (int d = 2; d <= rank; d++) {
            order[d] = d;
            if (d < rank) {
                merged[d] = input.size(d);
            }
        }
        return emitter.reshape(parts.permute(order), merged);
    }

    private static View flipped(Emitter emitter, View kernel, List<Integer> dims) {
        if (dims.isEmpty()) {
            return kernel;
        }
        View flipped = emitter.scratch(kernel.shape());
        long[] flips = dims.stream().mapToLong(Integer::longValue).toArray();
        emitter.step(List.of(kernel), List.of(flipped), binder -> {
            Tensor from = binder.tensor(kernel);
            Tensor to = binder.tensor(flipped);
            return () -> torch.flip_out(to, from, flips);
        });
        return flipped;
    }

    /** The window over batch and features too, where it does nothing. */
    private static Window full(Window window) {
        List<Window.Dim> dims = new ArrayList<>(List.of(Window.Dim.single(), Window.Dim.single()));
        dims.addAll(window.dims());
        return new Window(dims);
    }

    /** @param kernel whose input channels may be more than the input's, which has zeros there then */
    private static void multiply(
            Emitter emitter,
            Window window,
            View input,
            View kernel,
            View out,
            View result,
            long groups,
            boolean kernelGradient,
            long[] positions) {
        int spatial = window.rank();
        long[] stride = new long[spatial];
        long[] dilation = new long[spatial];
        long[] padding = new long[spatial];
        boolean symmetric = true;
        for (int d = 0; d < spatial; d++) {
            Window.Dim dim = window.dim(d);
            stride[d] = dim.stride();
            dilation[d] = dim.windowDilation();
            padding[d] = dim.padLow();
            long extent = (dim.size() - 1) * dim.windowDilation() + 1;
            long room = input.size(d + 2) + 2 * dim.padLow() - extent;
            symmetric &= dim.baseDilation() == 1
                    && dim.padLow() >= 0
                    && room >= 0
                    && room / dim.stride() + 1 == positions[d];
        }
        long inChannels = groups * kernel.size(1);
        View x;
        if (kernelGradient || !symmetric) {
            long[] all = new long[spatial + 2];
            all[0] = input.size(0);
            all[1] = inChannels;
            System.arraycopy(positions, 0, all, 2, spatial);
            Literal zero = Literal.scalar(input.dtype(), 0);
            x = Windows.padded(emitter, input, full(window), all, zero);
            padding = new long[spatial];
        } else {
            x = grown(emitter, input, input.size(0), inChannels);
        }
        View from = x;
        long[] pads = padding;
        emitter.step(List.of(from, kernel), List.of(result), binder -> {
            Tensor data = binder.tensor(from);
            Tensor weights = binder.tensor(kernel);
            Tensor target = binder.tensor(out);
            long[] none = new long[spatial];
            if (kernelGradient) {
                BoolPointer mask = binder.own(new BoolPointer(3));
                mask.put(0, false).put(1, true).put(2, false);
                LongArrayRefOptional noBias = binder.own(new LongArrayRefOptional());
                Tensor shaped = target.transpose(0, 1);
                long[] gradientDims = shaped.shape();
                return () -> {
                    try (PointerScope scope = new PointerScope()) {
                        Tensor gradient = torch.convolution_backward(
                                        weights.transpose(0, 1),
                                        data.transpose(0, 1),
                                        data.new_empty(gradientDims),
                                        noBias,
                                        dilation,
                                        none,
                                        stride,
                                        false,
                                        none,
                                        1,
                                        mask)
                                .get1();
                        target.copy_(gradient.transpose(0, 1));
                    }
                };
            }
            TensorOptional noBias = binder.own(new TensorOptional());
            long[] byDim = fromLastDim(pads);
            long outChannels = out.size(1);
            return () -> {
                try (PointerScope scope = new PointerScope()) {
                    boolean zerosCount = byDim.length > 0 && !Double.isFinite(sum(weights));
                    Tensor all = torch.convolution(
                            zerosCount ? torch.constant_pad_nd(data, byDim) : data,
                            weights,
                            noBias,
                            stride,
                            zerosCount ? none : pads,
                            dilation,
                            false,
                            none,
                            groups);
                    target.copy_(all.narrow(1, 0, outChannels));
                }
            };
        });
    }

    /** Not finite if an element is not. libtorch leaves padding out, where zero times infinity is NaN: then it is made by a copy. */
    private static double sum(Tensor weights) {
        return weights.sum().item_double();
    }

    /** Both sides of each dim, the last first, as libtorch pads; nothing if there is no padding. */
    private static long[] fromLastDim(long[] pads) {
        if (Arrays.stream(pads).allMatch(pad -> pad == 0)) {
            return new long[0];
        }
        long[] out = new long[2 * pads.length];
        for (int d = 0; d < pads.length; d++) {
            int at = 2 * (pads.length - 1 - d);
            out[at] = pads[d];
            out[at + 1] = pads[d];
        }
        return out;
    }
}
