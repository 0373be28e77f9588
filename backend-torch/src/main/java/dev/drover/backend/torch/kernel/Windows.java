package dev.drover.backend.torch.kernel;

import dev.drover.backend.torch.Carriers;
import dev.drover.backend.torch.emit.Emitter;
import dev.drover.backend.torch.emit.Node;
import dev.drover.backend.torch.emit.View;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.Parameter;
import dev.drover.ir.ops.ReduceWindow;
import dev.drover.ir.ops.Reducers;
import dev.drover.ir.ops.Reduction;
import dev.drover.ir.ops.SelectAndScatter;
import dev.drover.ir.ops.Window;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.LongOptional;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.ScalarTypeOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * Moving windows. The operand is padded (and dilated) with the neutral value once; windows are then an overlapping strided view {@code
 * [positions.., taps..]} of it, of which the taps are folded.
 */
final class Windows {
    private Windows() {}

    /** {@code [positions.., taps..]} over a padded operand. */
    private static View windows(View padded, Window window, long[] positions) {
        int rank = window.rank();
        long[] sizes = new long[2 * rank];
        long[] strides = new long[2 * rank];
        for (int d = 0; d < rank; d++) {
            Window.Dim dim = window.dim(d);
            sizes[d] = positions[d];
            strides[d] = padded.stride(d) * dim.stride();
            sizes[rank + d] = dim.size();
            strides[rank + d] = padded.stride(d) * dim.windowDilation();
        }
        return new View(padded.buffer(), padded.dtype(), sizes, strides, padded.offset());
    }

    /** Elements along a dim that the windows reach, from the first padding on. */
    private static long extent(Window.Dim dim, long positions) {
        return (positions - 1) * dim.stride() + (dim.size() - 1) * dim.windowDilation() + 1;
    }

    /**
     * The operand as the windows see it: negative padding cut off, padding and holes filled. A view if there is nothing to fill.
     */
    static View padded(Emitter emitter, View x, Window window, long[] positions, Literal filler) {
        int rank = window.rank();
        long[] sizes = new long[rank];
        long[] targetStarts = new long[rank];
        long[] sourceStarts = new long[rank];
        long[] counts = new long[rank];
        long[] steps = new long[rank];
        boolean fills = false;
        for (int d = 0; d < rank; d++) {
            Window.Dim dim = window.dim(d);
            sizes[d] = extent(dim, positions[d]);
            steps[d] = dim.baseDilation();
            // Element e lies at padLow + e * baseDilation; those in [0, extent) are copied.
            sourceStarts[d] = dim.padLow() >= 0 ? 0 : (-dim.padLow() + steps[d] - 1) / steps[d];
            targetStarts[d] = dim.padLow() + sourceStarts[d] * steps[d];
            long fit = targetStarts[d] >= sizes[d] ? 0 : (sizes[d] - 1 - targetStarts[d]) / steps[d] + 1;
            counts[d] = Math.max(0, Math.min(x.size(d) - sourceStarts[d], fit));
            fills |= counts[d] != sizes[d];
        }
        long[] ones = new long[rank];
        java.util.Arrays.fill(ones, 1);
        View kept = x.slice(sourceStarts, counts, ones);
        if (!fills) {
            return kept;
        }
        View out = emitter.scratch(x.dtype(), sizes);
        View inner = out.slice(targetStarts, counts, steps);
        View fill = emitter.constant(filler).broadcast(sizes);
        emitter.step(List.of(kept, fill), List.of(out), binder -> {
            Tensor target = binder.tensor(out);
            Tensor value = binder.tensor(fill);
            Tensor place = binder.tensor(inner);
            Tensor source = binder.tensor(kept);
            return () -> {
                target.copy_(value);
                place.copy_(source);
            };
        });
        return out;
    }

    static void reduceWindow(Emitter emitter, Node node) {
        ReduceWindow op = (ReduceWindow) node.op();
        Reduction reduction = node.results().size() == 1 ? op.reduction() : null;
        DType dtype = node.shape().dtype();
        View x = emitter.input(node, 0);
        if (reduction == null
                || x.dtype() != dtype
                || !(dtype.isFloat() || dtype == DType.S32 || dtype == DType.S64)
                || dtype == DType.F8E4M3FN
                || dtype == DType.F8E5M2
                || node.shape().elements() == 0
                || x.elements() == 0) {
            HostKernel.KERNEL.emit(emitter, node);
            return;
        }
        Window window = op.window();
        long[] positions = node.shape().dims();
        Literal neutral = Reducers.neutral(reduction, dtype);
        View windows = windows(padded(emitter, x, window, positions, neutral), window, positions);
        int rank = window.rank();
        boolean prod = reduction == Reduction.PROD;
        View source = windows;
        long[] taps = new long[rank];
        for (int d = 0; d < rank; d++) {
            taps[d] = (long) rank + d;
        }
        if (prod) {
            long[] merged = java.util.Arrays.copyOf(positions, rank + 1);
            merged[rank] = window.elements();
            source = emitter.reshape(windows, merged);
        }
        View from = source;
        View init = emitter.input(node, 1);
        Literal known = emitter.literal(init);
        boolean plain = known != null && known.equals(neutral);
        View result = emitter.result(node);
        List<View> reads = new ArrayList<>(List.of(from));
        if (!plain) {
            reads.add(init.broadcast(positions));
        }
        emitter.step(reads, List.of(result), binder -> {
            Tensor in = binder.tensor(from);
            Tensor out = binder.tensor(result);
            Tensor start = plain ? null : binder.tensor(reads.get(1));
            ScalarTypeOptional type = binder.own(new ScalarTypeOptional(Carriers.scalarType(dtype)));
            Elementwise.Binary combine = Reductions.combine(reduction, dtype);
            return () -> {
                switch (reduction) {
                    case SUM -> torch.sum_out(out, in, taps, false, type);
                    case PROD -> torch.prod_out(out, in, -1, false, type);
                    case MAX, OR -> torch.amax_out(out, in, taps, false);
                    case MIN, AND -> torch.amin_out(out, in, taps, false);
                }
                if (start != null) {
                    combine.apply(out, out, start);
                }
            };
        });
    }

    static void selectAndScatter(Emitter emitter, Node node) {
        SelectAndScatter op = (SelectAndScatter) node.op();
        Boolean largest = picksLargest(op.select());
        View x = emitter.input(node, 0);
        View source = emitter.contiguous(emitter.input(node, 1));
        DType dtype = x.dtype();
        boolean floats = dtype == DType.F32 || dtype == DType.F64 || dtype == DType.BF16 || dtype == DType.F16;
        if (largest == null
                || Reducers.of(op.scatter()) != Reduction.SUM
                || !floats
                || node.shape().dtype() != dtype
                || source.elements() == 0
                || !seesElements(op.window(), x.sizes(), source.sizes())) {
            HostKernel.KERNEL.emit(emitter, node);
            return;
        }
        Window window = op.window();
        long[] positions = source.sizes();
        Literal filler = Reducers.neutral(largest ? Reduction.MAX : Reduction.MIN, dtype);
        View windows = windows(padded(emitter, x, window, positions, filler), window, positions);
        long[] flatDims = {source.elements(), window.elements()};
        View flat = emitter.reshape(windows, flatDims);
        View init = emitter.input(node, 2).broadcast(node.shape().dims());
        View result = emitter.result(node);
        View out = result.reshape(result.elements());
        View updates = source.reshape(source.elements());
        if (out == null || updates == null) {
            throw new IllegalStateException("The views of (" + node.name() + ") must be row-major.");
        }
        ArrayShape array = x.shape();
        emitter.step(List.of(x, flat, updates, init), List.of(result), binder -> {
            Tensor elements = binder.tensor(x);
            Tensor values = binder.tensor(flat);
            Tensor target = binder.tensor(out);
            Tensor whole = binder.tensor(result);
            Tensor start = binder.tensor(init);
            Tensor amounts = binder.tensor(updates);
            Tensor table = binder.own(places(array, window, positions));
            LongOptional last = binder.own(new LongOptional(1));
            return () -> {
                try (PointerScope scope = new PointerScope()) {
                    Tensor places;
                    if (Double.isFinite(elements.sum().item_double())) {
                        Tensor best = largest ? torch.argmax(values, last, true) : torch.argmin(values, last, true);
                        places = torch.gather(table, 1, best).reshape(-1);
                    } else {
                        places = chosen(values, table, largest);
                    }
                    whole.copy_(start);
                    target.scatter_add_(0, places, amounts);
                }
            };
        });
    }

    /** Whether each position sees an element. */
    private static boolean seesElements(Window window, long[] inputs, long[] positions) {
        for (int d = 0; d < positions.length; d++) {
            for (long position = 0; position < positions[d]; position++) {
                boolean sees = false;
                for (long tap = 0; tap < window.dim(d).size() && !sees; tap++) {
                    sees = window.dim(d).input(position, tap, inputs[d]) >= 0;
                }
                if (!sees) {
                    return false;
                }
            }
        }
        return true;
    }

    /**
     * Which element each position chooses, one tap after the other as HLO does: next to NaN, where no comparison holds, and to infinities,
     * that are as large as the padding, the largest is not what it chooses.
     */
    private static Tensor chosen(Tensor values, Tensor places, boolean largest) {
        Tensor place = places.select(1, 0);
        Tensor value = values.select(1, 0);
        for (long tap = 1; tap < values.size(1); tap++) {
            Tensor next = values.select(1, tap);
            Tensor nextPlace = places.select(1, tap);
            Scalar none = new Scalar(0L);
            Tensor keeps = (largest ? value.ge(next) : value.le(next)).logical_and(place.ge(none));
            Tensor stays = keeps.logical_or(nextPlace.lt(none));
            value = torch.where(stays, value, next);
            place = torch.where(stays, place, nextPlace);
        }
        return place;
    }

    /** For each position and tap, which element of the array it is; negative where it is padding. */
    private static Tensor places(ArrayShape array, Window window, long[] positions) {
        int rank = window.rank();
        long total = 1;
        for (long p : positions) {
            total *= p;
        }
        int taps = Math.toIntExact(window.elements());
        long[] table = new long[Math.toIntExact(total * taps)];
        long[] strides = array.strides();
        for (int i = 0; i < table.length; i++) {
            long position = i / taps;
            long tap = i % taps;
            long at = 0;
            for (int d = rank - 1; d >= 0; d--) {
                long element = window.dim(d)
                        .input(position % positions[d], tap % window.dim(d).size(), array.dim(d));
                position /= positions[d];
                tap /= window.dim(d).size();
                at = element < 0 || at < 0 ? -1 : at + element * strides[d];
            }
            table[i] = at;
        }
        try (LongPointer pointer = new LongPointer(table)) {
            return dev.drover.backend.torch.Natives.fromBlob(pointer, torch.ScalarType.Long, total, taps)
                    .clone();
        }
    }

    /** Whether a selection keeps the larger (true) or the smaller one of two, the earlier one of equals; null for others. */
    private static @Nullable Boolean picksLargest(Computation select) {
        Instruction root = select.root();
        boolean ordered = root.operands().size() == 2
                && root.operand(0).op() instanceof Parameter first
                && root.operand(1).op() instanceof Parameter second
                && first.number() == 0
                && second.number() == 1;
        String direction = ordered ? Comparisons.direction(root.op()) : null;
        return direction == null
                ? null
                : direction.equals("GE") ? Boolean.TRUE : direction.equals("LE") ? Boolean.FALSE : null;
    }
}
