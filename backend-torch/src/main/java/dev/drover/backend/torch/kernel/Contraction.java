package dev.drover.backend.torch.kernel;

import dev.drover.backend.torch.Carriers;
import dev.drover.backend.torch.emit.Emitter;
import dev.drover.backend.torch.emit.Node;
import dev.drover.backend.torch.emit.View;
import dev.drover.ir.ops.Dot;
import dev.drover.ir.type.DType;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/**
 * {@code dot} as matrix products. Transposes and reshapes of operands stay views where a matrix can be seen in them; batch dims that
 * do not merge to one become a loop over batched products.
 */
final class Contraction {
    /** More separate calls than this, and the operand is copied instead. */
    private static final long MOST_CALLS = 64;

    private Contraction() {}

    static void emit(Emitter emitter, Node node) {
        Dot dot = (Dot) node.op();
        DType dtype = node.shape().dtype();
        if (dtype == DType.PRED || dtype == DType.S4 || dtype == DType.U4) {
            HostKernel.KERNEL.emit(emitter, node);
            return;
        }
        boolean f8 = dtype == DType.F8E4M3FN || dtype == DType.F8E5M2;
        View lhs = convert(emitter, emitter.input(node, 0), f8 ? DType.F32 : dtype);
        View rhs = convert(emitter, emitter.input(node, 1), f8 ? DType.F32 : dtype);
        int[] order = dtype == DType.F32 ? Layouts.wanted(emitter, node, dot) : null;
        View result = order == null ? emitter.result(node) : emitter.resultIn(node, order);
        if (f8) {
            View wide = emitter.scratch(DType.F32, node.shape().dims());
            multiply(emitter, dot, lhs, rhs, wide);
            emitter.copy(wide, result);
        } else {
            multiply(emitter, dot, lhs, rhs, result);
        }
    }

    private static View convert(Emitter emitter, View view, DType dtype) {
        if (view.dtype() == dtype) {
            return view;
        }
        View converted = emitter.scratch(dtype, view.sizes());
        emitter.copy(view, converted);
        return converted;
    }

    /** The operands and the result of a product as libtorch takes them. */
    record Product(List<View> lhs, List<View> rhs, List<View> out) {
        boolean isBatched() {
            return out.get(0).rank() == 3;
        }
    }

    static void multiply(Emitter emitter, Dot dot, View lhs, View rhs, View result) {
        Product product = product(emitter, dot, lhs, rhs, result);
        List<View> reads = new ArrayList<>(product.lhs);
        reads.addAll(product.rhs);
        boolean batched = product.isBatched();
        emitter.step(reads, product.out, binder -> {
            if (Gemm.takes(product.lhs.get(0), product.rhs.get(0), product.out.get(0))) {
                return Gemm.bind(binder, product.lhs, product.rhs, product.out);
            }
            int calls = product.out.size();
            Tensor[] a = product.lhs.stream().map(binder::tensor).toArray(Tensor[]::new);
            Tensor[] b = product.rhs.stream().map(binder::tensor).toArray(Tensor[]::new);
            Tensor[] c = product.out.stream().map(binder::tensor).toArray(Tensor[]::new);
            Scalar mask = Carriers.wraps(result.dtype())
                    ? binder.scalar((1L << result.dtype().bits()) - 1)
                    : null;
            return () -> {
                for (int i = 0; i < calls; i++) {
                    if (batched) {
                        torch.bmm_out(c[i], a[i], b[i]);
                    } else {
                        torch.mm_out(c[i], a[i], b[i]);
                    }
                    if (mask != null) {
                        torch.bitwise_and_out(c[i], c[i], mask);
                    }
                }
            };
        });
    }

    /** Splits a dot into products of matrices or of batches of matrices. */
    static Product product(Emitter emitter, Dot dot, View lhs, View rhs, View result) {
        List<Integer> lhsFree = dot.lhsFree(lhs.rank());
        List<Integer> rhsFree = dot.rhsFree(rhs.rank());
        int batch = dot.lhsBatch().size();
        long m = sizes(lhs, lhsFree);
        long k = sizes(lhs, dot.lhsContracting());
        long n = sizes(rhs, rhsFree);
        View a = matrices(emitter, lhs, dot.lhsBatch(), lhsFree, dot.lhsContracting(), m, k);
        View b = matrices(emitter, rhs, dot.rhsBatch(), dot.rhsContracting(), rhsFree, k, n);
        long[] outDims = new long[batch + 2];
        for (int i = 0; i < batch; i++) {
            outDims[i] = lhs.size(dot.lhsBatch().get(i));
        }
        outDims[batch] = m;
        outDims[batch + 1] = n;
        View c = reshaped(result, outDims);
        if (batch == 0) {
            return new Product(List.of(a), List.of(b), List.of(c));
        }
        // The largest suffix of batch dims that merges in all three.
        for (int outer = 0; outer < batch; outer++) {
            long most = result.dtype() == DType.F32 ? Layouts.MOST_PRODUCTS : MOST_CALLS;
            long calls = 1;
            for (int i = 0; i < outer; i++) {
                calls *= outDims[i];
            }
            View mergedA = merged(a, outer, batch);
            View mergedB = merged(b, outer, batch);
            View mergedC = merged(c, outer, batch);
            if (mergedA != null && mergedB != null && mergedC != null && (calls <= most || outer == 0)) {
                return new Product(split(mergedA, outer), split(mergedB, outer), split(mergedC, outer));
            }
        }
        return new Product(
                List.of(flat(emitter.contiguous(a))), List.of(flat(emitter.contiguous(b))), List.of(flat(c)));
    }

    private static View flat(View view) {
        return reshaped(view, -1, view.size(view.rank() - 2), view.size(view.rank() - 1));
    }

    private static View reshaped(View view, long... dims) {
        for (int i = 0; i < dims.length; i++) {
            if (dims[i] == -1) {
                long others = 1;
                for (int j = 0; j < dims.length; j++) {
                    others *= j == i ? 1 : dims[j];
                }
                dims[i] = others == 0 ? 0 : view.elements() / others;
            }
        }
        View made = view.reshape(dims);
        if (made == null) {
            throw new IllegalStateException("The view (" + view + ") must be row-major.");
        }
        return made;
    }

    private static long sizes(View view, List<Integer> dims) {
        long product = 1;
        for (int d : dims) {
            product *= view.size(d);
        }
        return product;
    }

    /** {@code [batch.., rows, columns]} of an operand, as a view if rows and columns each merge to one dim. */
    private static View matrices(
            Emitter emitter,
            View view,
            List<Integer> batch,
            List<Integer> rowDims,
            List<Integer> columnDims,
            long rows,
            long columns) {
        int[] order = java.util.stream.Stream.of(batch, rowDims, columnDims)
                .flatMap(List::stream)
                .mapToInt(Integer::intValue)
                .toArray();
        View ordered = view.permute(order);
        long[] dims = new long[batch.size() + 2];
        for (int i = 0; i < batch.size(); i++) {
            dims[i] = ordered.size(i);
        }
        dims[batch.size()] = rows;
        dims[batch.size() + 1] = columns;
        View made = ordered.reshape(dims);
        if (made != null && isMatrix(made)) {
            return made;
        }
        return reshaped(emitter.contiguous(ordered), dims);
    }

    /** Whether BLAS can read the last two dims: one of them without gaps, none repeated. */
    private static boolean isMatrix(View view) {
        int r = view.rank() - 2;
        int c = view.rank() - 1;
        boolean rowMajor =
                (view.stride(c) == 1 || view.size(c) == 1) && (view.stride(r) >= view.size(c) || view.size(r) == 1);
        boolean columnMajor =
                (view.stride(r) == 1 || view.size(r) == 1) && (view.stride(c) >= view.size(r) || view.size(c) == 1);
        return rowMajor || columnMajor;
    }

    /** Batch dims from {@code outer} on merged to one, or null. */
    private static @org.jspecify.annotations.Nullable View merged(View view, int outer, int batch) {
        long[] dims = new long[outer + 3];
        for (int i = 0; i < outer; i++) {
            dims[i] = view.size(i);
        }
        dims[outer] = 1;
        for (int i = outer; i < batch; i++) {
            dims[outer] *= view.size(i);
        }
        dims[outer + 1] = view.size(view.rank() - 2);
        dims[outer + 2] = view.size(view.rank() - 1);
        return view.reshape(dims);
    }

    /** One view for each index of the first {@code outer} dims. */
    private static List<View> split(View view, int outer) {
        List<View> out = List.of(view);
        for (int d = 0; d < outer; d++) {
            List<View> next = new ArrayList<>();
            for (View part : out) {
                for (long i = 0; i < part.size(0); i++) {
                    next.add(part.select(i));
                }
            }
            out = next;
        }
        return out;
    }
}
