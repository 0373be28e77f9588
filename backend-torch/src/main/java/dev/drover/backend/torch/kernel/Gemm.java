package dev.drover.backend.torch.kernel;

import dev.drover.backend.torch.LibTorch;
import dev.drover.backend.torch.emit.Binder;
import dev.drover.backend.torch.emit.Place;
import dev.drover.backend.torch.emit.Team;
import dev.drover.backend.torch.emit.View;
import dev.drover.ir.type.DType;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.dnnl.global.dnnl;

/**
 * Products of f32 matrices by oneDNN, straight on planned memory: {@code c = a b} with the operands in either order of dims. See
 * docs/decisions/products-by-onednn.md for why not by libtorch.
 *
 * <p>A large product is cut by oneDNN among the threads; of many small ones each thread takes some.
 */
final class Gemm {
    /** Work of a product, in multiplications, from which it is worth more threads than one. */
    private static final long LARGE = 1L << 24;

    private static final byte PLAIN = 'N';
    private static final byte TRANSPOSED = 'T';

    private Gemm() {}

    /** Whether a product, or a batch of them, can be done here. */
    static boolean takes(View a, View b, View c) {
        return LibTorch.hasOneDnn()
                && c.dtype() == DType.F32
                && c.elements() > 0
                && a.elements() > 0
                && b.elements() > 0
                && order(c) != 0
                && order(a) != 0
                && order(b) != 0;
    }

    /** How a matrix lies, or 0 if neither its rows nor its columns are without gaps. */
    private static byte order(View view) {
        return leading(view, PLAIN) > 0 ? PLAIN : leading(view, TRANSPOSED) > 0 ? TRANSPOSED : 0;
    }

    /** The step from one row (or column) to the next, or 0 if the matrix does not lie so. */
    private static long leading(View view, byte order) {
        int outer = order == PLAIN ? view.rank() - 2 : view.rank() - 1;
        int inner = order == PLAIN ? view.rank() - 1 : view.rank() - 2;
        if (view.size(inner) != 1 && view.stride(inner) != 1) {
            return 0;
        }
        if (view.size(outer) == 1) {
            return Math.max(1, view.size(inner));
        }
        return view.stride(outer) >= view.size(inner) ? view.stride(outer) : 0;
    }

    /** The shape of a product and how its matrices lie; batches follow one another in steps of elements. */
    private record Shape(
            byte orderA,
            byte orderB,
            long m,
            long n,
            long k,
            long leadingA,
            long leadingB,
            long leadingC,
            long batches,
            long stepA,
            long stepB,
            long stepC) {
        static Shape of(View a, View b, View c) {
            int r = c.rank() - 2;
            byte orderA = order(a);
            byte orderB = order(b);
            return new Shape(
                    orderA,
                    orderB,
                    c.size(r),
                    c.size(r + 1),
                    a.size(r + 1),
                    leading(a, orderA),
                    leading(b, orderB),
                    leading(c, PLAIN),
                    r == 0 ? 1 : c.size(0),
                    r == 0 ? 0 : a.stride(0),
                    r == 0 ? 0 : b.stride(0),
                    r == 0 ? 0 : c.stride(0));
        }
    }

    /** Products of one shape on memory, for one thread. */
    private static final class Calls {
        private final Shape shape;
        private final List<Place.Cursor> a = new ArrayList<>();
        private final List<Place.Cursor> b = new ArrayList<>();
        private final List<Place.Cursor> c = new ArrayList<>();

        Calls(Shape shape, Binder binder, List<View> lhs, List<View> rhs, List<View> out) {
            this.shape = shape;
            for (int i = 0; i < out.size(); i++) {
                a.add(binder.cursor(lhs.get(i)));
                b.add(binder.cursor(rhs.get(i)));
                c.add(binder.cursor(out.get(i)));
            }
        }

        /** Products [from, to) of all, in the order of views and of batches in them. */
        void run(long from, long to) {
            Shape s = shape;
            for (long at = from; at < to; at++) {
                int view = (int) (at / s.batches);
                long batch = at % s.batches;
                int status = dnnl.dnnl_sgemm(
                        s.orderA,
                        s.orderB,
                        s.m,
                        s.n,
                        s.k,
                        1f,
                        a.get(view).at(batch * s.stepA),
                        s.leadingA,
                        b.get(view).at(batch * s.stepB),
                        s.leadingB,
                        0f,
                        c.get(view).at(batch * s.stepC),
                        s.leadingC);
                if (status != dnnl.dnnl_success) {
                    throw new IllegalStateException("oneDNN must do the product; its status is (" + status + ").");
                }
            }
        }
    }

    private static List<View> transposed(List<View> matrices) {
        return matrices.stream()
                .map(v -> v.rank() == 2 ? v.permute(1, 0) : v.permute(0, 2, 1))
                .toList();
    }

    /** Products {@code out[i] = lhs[i] rhs[i]}, all of one shape. */
    static Runnable bind(Binder binder, List<View> lhs, List<View> rhs, List<View> out) {
        if (order(out.get(0)) == TRANSPOSED) {
            return bind(binder, transposed(rhs), transposed(lhs), transposed(out));
        }
        Shape shape = Shape.of(lhs.get(0), rhs.get(0), out.get(0));
        long products = shape.batches * out.size();
        Team team = binder.team();
        boolean large = shape.m * shape.n * shape.k >= LARGE;
        if (team.size() == 1 || products == 1 || large) {
            Calls calls = new Calls(shape, binder, lhs, rhs, out);
            return () -> calls.run(0, products);
        }
        Calls[] byMember = new Calls[team.size()];
        for (int i = 0; i < byMember.length; i++) {
            byMember[i] = new Calls(shape, binder, lhs, rhs, out);
        }
        Team.Range range = (member, from, to) -> byMember[member].run(from, to);
        return () -> team.hand(products, range);
    }
}
