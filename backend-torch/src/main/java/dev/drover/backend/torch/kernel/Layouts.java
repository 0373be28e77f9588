package dev.drover.backend.torch.kernel;

import dev.drover.backend.torch.emit.Emitter;
import dev.drover.backend.torch.emit.Node;
import dev.drover.backend.torch.emit.Node.Ref;
import dev.drover.ir.ops.Dot;
import dev.drover.ir.ops.RowMajorView;
import dev.drover.ir.ops.Transpose;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * In which order of dims a product should lie, so that who reads it need not copy: attention's {@code y = p v} as
 *
 * <pre>
 *   y [b,h,s,d], dims 0 2 1 3   since  dot(y, w [h,d,n]) contracts h and d, and sees [b s, h d] as a matrix then
 * </pre>
 */
final class Layouts {
    /** A batch that does not lie row-major is done by as many calls. */
    static final long MOST_PRODUCTS = 1024;

    private Layouts() {}

    /** The order for the result of a dot, the slowest dim first; null for row-major. */
    static int @Nullable [] wanted(Emitter emitter, Node node, Dot dot) {
        int rank = node.shape().rank();
        int batch = dot.lhsBatch().size();
        int rows = dot.lhsFree(node.input(0).shape().rank()).size();
        int columns = dot.rhsFree(node.input(1).shape().rank()).size();
        long products = 1;
        for (int i = 0; i < batch; i++) {
            products *= node.shape().dim(i);
        }
        if (batch == 0 || rows != 1 || columns != 1 || products > MOST_PRODUCTS) {
            return null;
        }
        List<Integer> order = byUsers(emitter, node.ref());
        if (order == null) {
            return null;
        }
        // Only rows without gaps: a product whose columns have none is slower by more than a copy.
        boolean fits = order.get(rank - 1) == rank - 1
                && node.shape().dim(rank - 1) > 1
                && !order.equals(IntStream.range(0, rank).boxed().toList());
        return fits ? order.stream().mapToInt(Integer::intValue).toArray() : null;
    }

    /** What the first reader with a wish wants. */
    private static @Nullable List<Integer> byUsers(Emitter emitter, Ref value) {
        for (Node user : emitter.users(value)) {
            List<Integer> wish = wish(emitter, user, value);
            if (wish != null) {
                return wish;
            }
        }
        return null;
    }

    private static @Nullable List<Integer> wish(Emitter emitter, Node user, Ref value) {
        int rank = value.shape().rank();
        if (user.op() instanceof Transpose transpose) {
            List<Integer> after = byUsers(emitter, user.ref());
            // Dim i of the transposed value is dim permutation[i] of this one.
            List<Integer> dims = transpose.permutation();
            return after == null ? null : after.stream().map(dims::get).toList();
        }
        if (user.op() instanceof RowMajorView) {
            return IntStream.range(0, rank).boxed().toList();
        }
        if (user.op() instanceof Dot dot) {
            boolean left = user.input(0).equals(value);
            List<Integer> order = new ArrayList<>(left ? dot.lhsBatch() : dot.rhsBatch());
            order.addAll(left ? dot.lhsFree(rank) : dot.rhsFree(rank));
            order.addAll(left ? dot.lhsContracting() : dot.rhsContracting());
            return order;
        }
        return null;
    }
}
