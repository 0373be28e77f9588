package dev.drover.backend.torch.kernel;

import dev.drover.backend.torch.emit.Emitter;
import dev.drover.backend.torch.emit.Node;
import dev.drover.backend.torch.emit.Step;
import dev.drover.backend.torch.emit.View;
import dev.drover.ir.UserError;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.PackedLiteral;
import dev.drover.ir.ops.Broadcast;
import dev.drover.ir.ops.Concatenate;
import dev.drover.ir.ops.Constant;
import dev.drover.ir.ops.Iota;
import dev.drover.ir.ops.Pad;
import dev.drover.ir.ops.Reverse;
import dev.drover.ir.ops.Slice;
import dev.drover.ir.ops.Transpose;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.bytedeco.pytorch.LongOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** Ops that move elements. Most are views and take no step at all. */
final class Movement {
    private Movement() {}

    static void constant(Emitter emitter, Node node) {
        Constant constant = (Constant) node.op();
        PackedLiteral values = constant.values();
        if (values == null) {
            throw new UserError(
                    "The values ({...}) of constant (" + node.name() + ") must be in the file to run it.",
                    "Maybe print the module with large constants (XLA: print_large_constants).");
        }
        if (values.isSplat() && node.shape().elements() > 1) {
            View scalar = emitter.constant(values.withDims().unpack());
            emitter.define(node.ref(), scalar.broadcast(node.shape().dims()));
        } else {
            emitter.define(node.ref(), emitter.constant(values.unpack()));
        }
    }

    static void broadcast(Emitter emitter, Node node) {
        int[] dims = ((Broadcast) node.op())
                .dimensions().stream().mapToInt(Integer::intValue).toArray();
        emitter.define(node.ref(), emitter.input(node, 0).broadcast(node.shape().dims(), dims));
    }

    static void transpose(Emitter emitter, Node node) {
        int[] order = ((Transpose) node.op())
                .permutation().stream().mapToInt(Integer::intValue).toArray();
        emitter.define(node.ref(), emitter.input(node, 0).permute(order));
    }

    static void reshape(Emitter emitter, Node node) {
        emitter.define(
                node.ref(), emitter.reshape(emitter.input(node, 0), node.shape().dims()));
    }

    static void slice(Emitter emitter, Node node) {
        Slice slice = (Slice) node.op();
        emitter.define(
                node.ref(),
                emitter.input(node, 0).slice(longs(slice.starts()), node.shape().dims(), longs(slice.strides())));
    }

    private static long[] longs(List<Long> list) {
        return list.stream().mapToLong(Long::longValue).toArray();
    }

    static void reverse(Emitter emitter, Node node) {
        View x = emitter.input(node, 0);
        View out = emitter.result(node);
        long[] dims = ((Reverse) node.op())
                .dimensions().stream().mapToLong(Integer::longValue).toArray();
        emitter.step(List.of(x), List.of(out), binder -> {
            Tensor from = binder.tensor(x);
            Tensor to = binder.tensor(out);
            return () -> torch.flip_out(to, from, dims);
        });
    }

    /** Numbers along one dim, repeated along the others. */
    static void iota(Emitter emitter, Node node) {
        int dim = ((Iota) node.op()).dimension();
        ArrayShape shape = node.shape();
        int size = Math.toIntExact(shape.dim(dim));
        ArrayShape line = shape.withDims(size);
        Literal numbers;
        if (shape.dtype().isFloat()) {
            double[] values = new double[size];
            Arrays.setAll(values, i -> i);
            numbers = Literal.ofDoubles(line, values);
        } else if (shape.dtype().isComplex()) {
            double[] values = new double[2 * size];
            Arrays.setAll(values, i -> i % 2 == 0 ? i / 2 : 0);
            numbers = Literal.ofDoubles(line, values);
        } else {
            long[] values = new long[size];
            Arrays.setAll(values, i -> i);
            numbers = Literal.ofLongs(line, values);
        }
        emitter.define(node.ref(), emitter.constant(numbers).broadcast(shape.dims(), dim));
    }

    static void concatenate(Emitter emitter, Node node) {
        int dim = ((Concatenate) node.op()).dimension();
        View out = emitter.result(node);
        List<View> parts = new ArrayList<>();
        List<View> places = new ArrayList<>();
        long at = 0;
        for (int i = 0; i < node.inputs().size(); i++) {
            View part = emitter.input(node, i);
            if (part.size(dim) > 0) {
                parts.add(part);
                places.add(out.narrow(dim, at, part.size(dim)));
            }
            at += part.size(dim);
        }
        emitter.step(parts, List.of(out), binder -> {
            Tensor[] from = parts.stream().map(binder::tensor).toArray(Tensor[]::new);
            Tensor[] to = places.stream().map(binder::tensor).toArray(Tensor[]::new);
            return () -> {
                for (int i = 0; i < from.length; i++) {
                    to[i].copy_(from[i]);
                }
            };
        });
    }

    static void pad(Emitter emitter, Node node) {
        Pad pad = (Pad) node.op();
        View x = emitter.input(node, 0);
        View out = emitter.result(node);
        int rank = x.rank();
        long[] sources = new long[rank];
        long[] targets = new long[rank];
        long[] counts = new long[rank];
        long[] steps = new long[rank];
        long[] ones = new long[rank];
        Arrays.fill(ones, 1);
        boolean any = true;
        for (int d = 0; d < rank; d++) {
            long low = pad.low().get(d);
            steps[d] = pad.interior().get(d) + 1;
            sources[d] = low >= 0 ? 0 : (-low + steps[d] - 1) / steps[d];
            targets[d] = low + sources[d] * steps[d];
            long fit = targets[d] >= out.size(d) ? 0 : (out.size(d) - 1 - targets[d]) / steps[d] + 1;
            counts[d] = Math.min(x.size(d) - sources[d], fit);
            any &= counts[d] > 0;
        }
        View fill = emitter.input(node, 1).broadcast(out.sizes());
        List<View> pieces = any ? List.of(x.slice(sources, counts, ones)) : List.of();
        List<View> places = any ? List.of(out.slice(targets, counts, steps)) : List.of();
        List<View> reads = new ArrayList<>(pieces);
        reads.add(fill);
        emitter.step(reads, List.of(out), binder -> {
            Tensor target = binder.tensor(out);
            Tensor value = binder.tensor(fill);
            Tensor[] from = pieces.stream().map(binder::tensor).toArray(Tensor[]::new);
            Tensor[] to = places.stream().map(binder::tensor).toArray(Tensor[]::new);
            return () -> {
                target.copy_(value);
                for (int i = 0; i < from.length; i++) {
                    to[i].copy_(from[i]);
                }
            };
        });
    }

    /** A part of an array at positions that are known when it runs; they are clamped so that it is inside. */
    private static final class Part {
        private final long[] sizes;
        private final long[] strides;
        private final long[] limits;
        private final List<View> starts;

        Part(long[] sizes, long[] strides, long[] limits, List<View> starts) {
            this.sizes = sizes;
            this.strides = strides;
            this.limits = limits;
            this.starts = starts;
        }

        List<View> starts() {
            return starts;
        }

        /** Makes the tensor of the part of {@code whole}, in the caller's scope. */
        Tensor of(Tensor whole, Tensor[] positions, long offset) {
            long at = offset;
            for (int d = 0; d < sizes.length; d++) {
                long start = positions[d].item_long();
                at += Math.max(0, Math.min(start, limits[d])) * strides[d];
            }
            return whole.as_strided(sizes, strides, new LongOptional(at));
        }
    }

    private static Part part(Emitter emitter, Node node, int firstStart, View whole, long[] sizes) {
        List<View> starts = new ArrayList<>();
        long[] limits = new long[sizes.length];
        for (int d = 0; d < sizes.length; d++) {
            starts.add(emitter.input(node, firstStart + d));
            limits[d] = whole.size(d) - sizes[d];
        }
        return new Part(sizes, whole.strides(), limits, starts);
    }

    static void dynamicSlice(Emitter emitter, Node node) {
        View x = emitter.input(node, 0);
        if (node.shape().elements() == 0 || hasVector(node, 1)) {
            HostKernel.KERNEL.emit(emitter, node);
            return;
        }
        View out = emitter.result(node);
        Part part = part(emitter, node, 1, x, out.sizes());
        List<View> reads = new ArrayList<>(part.starts());
        reads.add(x);
        emitter.step(reads, List.of(out), binder -> {
            Tensor whole = binder.tensor(x);
            Tensor target = binder.tensor(out);
            Tensor[] positions = part.starts().stream().map(binder::tensor).toArray(Tensor[]::new);
            return () -> {
                try (var scope = new org.bytedeco.javacpp.PointerScope()) {
                    target.copy_(part.of(whole, positions, x.offset()));
                }
            };
        });
    }

    /** The old form: all starts in one array. */
    private static boolean hasVector(Node node, int firstStart) {
        return node.inputs().size() > firstStart
                && node.input(firstStart).shape().rank() == 1;
    }

    static void dynamicUpdateSlice(Emitter emitter, Node node) {
        View x = emitter.input(node, 0);
        View update = emitter.input(node, 1);
        if (update.elements() == 0 || hasVector(node, 2)) {
            HostKernel.KERNEL.emit(emitter, node);
            return;
        }
        View out = emitter.result(node);
        Part part = part(emitter, node, 2, out, update.sizes());
        List<View> reads = new ArrayList<>(part.starts());
        reads.add(x);
        reads.add(update);
        emitter.step(reads, List.of(out), List.of(new Step.Alias(out, x)), binder -> {
            Tensor from = binder.tensor(x);
            Tensor target = binder.tensor(out);
            Tensor piece = binder.tensor(update);
            boolean inPlace = binder.same(x, out);
            Tensor[] positions = part.starts().stream().map(binder::tensor).toArray(Tensor[]::new);
            return () -> {
                if (!inPlace) {
                    target.copy_(from);
                }
                try (var scope = new org.bytedeco.javacpp.PointerScope()) {
                    part.of(target, positions, out.offset()).copy_(piece);
                }
            };
        });
    }

    /** The same bits under another shape. */
    static void bitcast(Emitter emitter, Node node) {
        View x = emitter.input(node, 0);
        DType to = node.shape().dtype();
        if (x.dtype() == to) {
            emitter.define(node.ref(), emitter.reshape(x, node.shape().dims()));
        } else {
            HostKernel.KERNEL.emit(emitter, node);
        }
    }
}
