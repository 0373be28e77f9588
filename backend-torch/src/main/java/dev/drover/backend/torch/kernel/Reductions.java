package dev.drover.backend.torch.kernel;

import dev.drover.backend.torch.Carriers;
import dev.drover.backend.torch.emit.Emitter;
import dev.drover.backend.torch.emit.Node;
import dev.drover.backend.torch.emit.View;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.ops.Reduce;
import dev.drover.ir.ops.Reducers;
import dev.drover.ir.ops.Reduction;
import dev.drover.ir.type.DType;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.pytorch.ScalarTypeOptional;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * {@code reduce}: sums, products, extremes and logical folds by libtorch's own kernels, any other computation by folding halves
 * with the vectorised reducer.
 */
final class Reductions {
    private Reductions() {}

    static void emit(Emitter emitter, Node node) {
        Reduce reduce = (Reduce) node.op();
        Reduction reduction = node.results().size() == 1 ? reduce.reduction() : null;
        View x = emitter.input(node, 0);
        boolean empty = x.elements() == 0;
        if (!empty && reduction != null && byLibrary(emitter, node, reduce, reduction, x)) {
            return;
        }
        if (empty || !Folding.emit(emitter, node, reduce)) {
            HostKernel.KERNEL.emit(emitter, node);
        }
    }

    private static boolean byLibrary(Emitter emitter, Node node, Reduce reduce, Reduction reduction, View x) {
        DType dtype = node.shape().dtype();
        if (x.dtype() != dtype || !supports(reduction, dtype)) {
            return false;
        }
        View init = emitter.input(node, 1);
        Literal known = emitter.literal(init);
        boolean neutral = known != null && known.equals(Reducers.neutral(reduction, dtype));
        View result = emitter.result(node);
        long[] dims = reduce.dimensions().stream().mapToLong(Integer::longValue).toArray();
        boolean prod = reduction == Reduction.PROD && dims.length > 0;
        View source = prod ? merged(emitter, x, reduce.dimensions()) : x;
        List<View> reads = new ArrayList<>(List.of(source));
        if (!neutral) {
            reads.add(init.broadcast(result.sizes()));
        }
        emitter.step(reads, List.of(result), binder -> {
            Tensor from = binder.tensor(source);
            Tensor out = binder.tensor(result);
            Tensor start = neutral ? null : binder.tensor(reads.get(1));
            Runnable fold = fold(
                    binder.own(new ScalarTypeOptional(Carriers.scalarType(dtype))), reduction, dtype, out, from, dims);
            if (start == null) {
                return fold;
            }
            Elementwise.Binary combine = combine(reduction, dtype);
            return () -> {
                fold.run();
                combine.apply(out, out, start);
            };
        });
        return true;
    }

    private static boolean supports(Reduction reduction, DType dtype) {
        return switch (dtype) {
            case F32, F64, F16, BF16 -> reduction != Reduction.AND && reduction != Reduction.OR;
            case S8, S16, S32, S64, U8 -> reduction != Reduction.AND && reduction != Reduction.OR;
            case C64 -> reduction == Reduction.SUM || reduction == Reduction.PROD;
            case PRED -> true;
            default -> false;
        };
    }

    /** The reduced dims moved to the end and merged there. */
    private static View merged(Emitter emitter, View x, List<Integer> reduced) {
        List<Integer> order = new ArrayList<>();
        List<Long> dims = new ArrayList<>();
        for (int d = 0; d < x.rank(); d++) {
            if (!reduced.contains(d)) {
                order.add(d);
                dims.add(x.size(d));
            }
        }
        long product = 1;
        for (int d : reduced) {
            order.add(d);
            product *= x.size(d);
        }
        dims.add(product);
        View moved = x.permute(order.stream().mapToInt(Integer::intValue).toArray());
        return emitter.reshape(moved, dims.stream().mapToLong(Long::longValue).toArray());
    }

    private static Runnable fold(
            ScalarTypeOptional type, Reduction reduction, DType dtype, Tensor out, Tensor from, long[] dims) {
        if (dims.length == 0) {
            return () -> out.copy_(from);
        }
        boolean pred = dtype == DType.PRED;
        return switch (reduction) {
            case SUM ->
                pred ? () -> torch.amax_out(out, from, dims, false) : () -> torch.sum_out(out, from, dims, false, type);
            case PROD ->
                pred
                        ? () -> torch.amin_out(out, from, new long[] {-1}, false)
                        : () -> torch.prod_out(out, from, -1, false, type);
            case MAX, OR -> () -> torch.amax_out(out, from, dims, false);
            case MIN, AND -> () -> torch.amin_out(out, from, dims, false);
        };
    }

    static Elementwise.Binary combine(Reduction reduction, DType dtype) {
        boolean pred = dtype == DType.PRED;
        return switch (reduction) {
            case SUM -> pred ? torch::logical_or_out : torch::add_out;
            case PROD -> pred ? torch::logical_and_out : torch::mul_out;
            case MAX -> torch::maximum_out;
            case MIN -> torch::minimum_out;
            case AND -> torch::bitwise_and_out;
            case OR -> torch::bitwise_or_out;
        };
    }

    /** The reduction of a computation, for windows and scatters. */
    static @Nullable Reduction of(dev.drover.ir.graph.Computation computation) {
        return Reducers.of(computation);
    }
}
