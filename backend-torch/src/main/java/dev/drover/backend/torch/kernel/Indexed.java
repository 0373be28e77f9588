package dev.drover.backend.torch.kernel;

import dev.drover.backend.torch.Carriers;
import dev.drover.backend.torch.emit.Emitter;
import dev.drover.backend.torch.emit.Node;
import dev.drover.backend.torch.emit.Step;
import dev.drover.backend.torch.emit.View;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.Gather;
import dev.drover.ir.ops.Parameter;
import dev.drover.ir.ops.Reducers;
import dev.drover.ir.ops.Reduction;
import dev.drover.ir.ops.Scatter;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** {@code gather} and {@code scatter} by selecting and adding rows, see {@link IndexRows}. */
final class Indexed {
    private Indexed() {}

    static void gather(Emitter emitter, Node node) {
        Gather gather = (Gather) node.op();
        View array = emitter.contiguous(emitter.input(node, 0));
        View indices = emitter.input(node, 1);
        if (node.shape().elements() == 0 || narrow(array.dtype())) {
            HostKernel.KERNEL.emit(emitter, node);
            return;
        }
        IndexRows rows = new IndexRows(gather.dims(), array.shape(), indices.shape(), gather.sliceSizes());
        View packed = emitter.scratch(array.dtype(), rows.packedDims());
        View flat = need(packed.reshape(packed.elements() / rows.width(), rows.width()));
        View source = need(array.reshape(rows.rows(), rows.width()));
        emitter.step(List.of(source, indices), List.of(flat), binder -> {
            IndexRows.Bound bound = rows.new Bound(binder, indices);
            Tensor from = binder.tensor(source);
            Tensor out = binder.tensor(flat);
            return () -> {
                try (PointerScope scope = new PointerScope()) {
                    torch.index_select_out(out, from, 0, bound.clamped());
                }
            };
        });
        emitter.define(node.ref(), packed.permute(rows.resultOrder(node.shape().rank())));
    }

    private static boolean narrow(DType dtype) {
        return dtype == DType.F8E4M3FN || dtype == DType.F8E5M2;
    }

    private static View need(@org.jspecify.annotations.Nullable View view) {
        if (view == null) {
            throw new IllegalStateException("The view must be row-major.");
        }
        return view;
    }

    static void scatter(Emitter emitter, Node node) {
        Scatter scatter = (Scatter) node.op();
        Reduction reduction = Reducers.of(scatter.combiner());
        boolean assigns = assigns(scatter.combiner());
        DType dtype = node.shape().dtype();
        if (node.results().size() != 1
                || !(assigns || supports(reduction, dtype))
                || narrow(dtype)
                || node.input(2).shape().elements() == 0
                || node.shape().elements() == 0) {
            HostKernel.KERNEL.emit(emitter, node);
            return;
        }
        View array = emitter.input(node, 0);
        View indices = emitter.input(node, 1);
        View updates = emitter.input(node, 2);
        IndexRows rows = new IndexRows(
                scatter.dims().asGather(),
                array.shape(),
                indices.shape(),
                windowSizes(scatter, array.shape(), updates));
        View packed = emitter.reshape(packed(updates, rows), updates.elements() / rows.width(), rows.width());
        View result = emitter.result(node);
        View flat = need(result.reshape(rows.rows(), rows.width()));
        emitter.step(
                List.of(array, indices, packed), List.of(result), List.of(new Step.Alias(result, array)), binder -> {
                    IndexRows.Bound bound = rows.new Bound(binder, indices);
                    Tensor from = binder.tensor(array);
                    Tensor target = binder.tensor(result);
                    Tensor out = binder.tensor(flat);
                    Tensor source = binder.tensor(packed);
                    boolean inPlace = binder.same(array, result);
                    Scalar zero = binder.scalar(0L);
                    Scalar mask = Carriers.wraps(dtype) ? binder.scalar((1L << dtype.bits()) - 1) : null;
                    boolean adds = reduction == Reduction.SUM && dtype != DType.PRED && !assigns;
                    return () -> {
                        try (PointerScope scope = new PointerScope()) {
                            if (!inPlace) {
                                target.copy_(from);
                            }
                            Tensor[] rowsAndValid = bound.checked();
                            if (adds) {
                                add(out, rowsAndValid, source, zero);
                            } else {
                                put(out, rowsAndValid, source, assigns ? null : reduction);
                            }
                            if (mask != null) {
                                torch.bitwise_and_out(target, target, mask);
                            }
                        }
                    };
                });
    }

    private static void add(Tensor out, Tensor[] rowsAndValid, Tensor source, Scalar zero) {
        Tensor invalid = torch.logical_not(rowsAndValid[1]);
        Tensor rows = rowsAndValid[0].masked_fill(invalid, zero);
        Tensor values = source.masked_fill(invalid.unsqueeze(1), zero);
        out.scatter_add_(0, rows.unsqueeze(1).expand_as(values), values);
    }

    private static void put(
            Tensor out, Tensor[] rowsAndValid, Tensor source, @org.jspecify.annotations.Nullable Reduction reduction) {
        Tensor kept = torch.nonzero(rowsAndValid[1]).reshape(-1);
        Tensor rows = torch.index_select(rowsAndValid[0], 0, kept);
        Tensor values = torch.index_select(source, 0, kept);
        if (reduction == null) {
            out.index_copy_(0, rows, values);
            return;
        }
        String name = switch (reduction) {
            case SUM, OR, MAX -> "amax";
            case MIN, AND -> "amin";
            case PROD -> "prod";
        };
        out.scatter_reduce_(0, rows.unsqueeze(1).expand_as(values), values, name, true);
    }

    /** What libtorch's scatters can do; logical folds of pred are extremes. */
    private static boolean supports(@org.jspecify.annotations.Nullable Reduction reduction, DType dtype) {
        if (reduction == null || dtype == DType.U64 || dtype == DType.S4 || dtype == DType.U4) {
            return false;
        }
        return switch (reduction) {
            case SUM -> dtype != DType.PRED;
            case AND, OR -> false;
            case PROD -> dtype.isFloat() || dtype == DType.S32 || dtype == DType.S64;
            case MAX, MIN -> !dtype.isComplex() && dtype != DType.PRED;
        };
    }

    /** Whether the combiner gives the update. */
    private static boolean assigns(Computation combiner) {
        Instruction root = combiner.root();
        return combiner.parameters().size() == 2 && root.op() instanceof Parameter parameter && parameter.number() == 1;
    }

    private static View packed(View updates, IndexRows rows) {
        int[] order = rows.resultOrder(updates.rank());
        int[] inverse = new int[order.length];
        for (int i = 0; i < order.length; i++) {
            inverse[order[i]] = i;
        }
        return updates.permute(inverse);
    }

    private static List<Long> windowSizes(Scatter scatter, ArrayShape array, View updates) {
        List<Integer> windowDims = scatter.dims().asGather().windowDims(array.rank());
        List<Long> sizes = new ArrayList<>();
        for (int d = 0; d < array.rank(); d++) {
            int at = windowDims.indexOf(d);
            sizes.add(
                    at < 0 ? 1L : updates.size(scatter.dims().updateWindowDims().get(at)));
        }
        return sizes;
    }
}
