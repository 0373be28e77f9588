package dev.drover.backend.torch.kernel;

import dev.drover.backend.torch.emit.Emitter;
import dev.drover.backend.torch.emit.FlatProgram;
import dev.drover.backend.torch.emit.Node;
import dev.drover.backend.torch.emit.Node.Ref;
import dev.drover.backend.torch.emit.View;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.ops.Parameter;
import dev.drover.ir.ops.Reduce;
import dev.drover.ir.type.ArrayShape;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Computations over scalars applied to whole arrays: every op in them must map elements to elements. A fold combines neighbours
 * pairwise, so that the order of elements is kept:
 *
 * <pre>  a b c d e  ->  (a+b) (c+d), e left  ->  ((a+b)+(c+d)), e left  ->  (((a+b)+(c+d))+e)</pre>
 */
final class Folding {
    private Folding() {}

    /** A computation over scalars as a program over arrays of these dims, or null if an op in it does more. */
    static @Nullable FlatProgram vectorized(Computation computation, long[] dims, Set<String> elementwise) {
        FlatProgram scalar = FlatProgram.of(computation);
        Map<Ref, Ref> newByOld = new HashMap<>();
        List<List<Ref>> parameters = new ArrayList<>();
        for (List<Ref> leaves : scalar.parameters()) {
            List<Ref> made = new ArrayList<>();
            for (Ref leaf : leaves) {
                ArrayShape shape = leaf.shape().withDims(dims);
                Node node = new Node(
                        leaf.node().id(), leaf.node().name(), new Parameter(0, shape), List.of(), List.of(shape));
                made.add(node.ref());
                newByOld.put(leaf, node.ref());
            }
            parameters.add(made);
        }
        for (Node node : scalar.order()) {
            if (node.op() instanceof Parameter) {
                continue;
            }
            boolean constant = node.inputs().isEmpty();
            boolean fits = constant
                    ? node.op().opcode().equals("constant")
                    : elementwise.contains(node.op().opcode());
            if (!fits || node.shape().rank() != 0) {
                return null;
            }
            List<Ref> inputs =
                    node.inputs().stream().map(old -> lookUp(newByOld, old)).toList();
            boolean wide = inputs.stream().anyMatch(input -> input.shape().rank() == dims.length && dims.length > 0);
            ArrayShape shape = wide ? node.shape().withDims(dims) : node.shape();
            newByOld.put(node.ref(), new Node(node.id(), node.name(), node.op(), inputs, List.of(shape)).ref());
        }
        return new FlatProgram(
                parameters,
                scalar.outputs().stream().map(old -> lookUp(newByOld, old)).toList());
    }

    private static Ref lookUp(Map<Ref, Ref> newByOld, Ref old) {
        Ref made = newByOld.get(old);
        if (made == null) {
            throw new IllegalStateException("The value (" + old + ") must be made before its use.");
        }
        return made;
    }

    /** Applies a computation over scalars element by element, or gives null. */
    static @Nullable List<View> apply(Emitter emitter, Computation computation, List<View> arguments, long[] dims) {
        FlatProgram program = vectorized(computation, dims, Kernels.ELEMENTWISE);
        if (program == null) {
            return null;
        }
        List<View> out = new ArrayList<>();
        for (View view : emitter.emit(program, arguments)) {
            out.add(view.rank() == 0 && dims.length > 0 ? view.broadcast(dims) : view);
        }
        return out;
    }

    /** Emits a reduce; false if its reducer is not elementwise. */
    static boolean emit(Emitter emitter, Node node, Reduce reduce) {
        int n = node.results().size();
        List<View> values = new ArrayList<>();
        long count = 1;
        for (int d : reduce.dimensions()) {
            count *= node.input(0).shape().dim(d);
        }
        long[] rest = node.shape().dims();
        if (vectorized(reduce.reducer(), rest, Kernels.ELEMENTWISE) == null) {
            return false;
        }
        for (int i = 0; i < n; i++) {
            values.add(front(emitter, emitter.input(node, i), reduce.dimensions(), count, rest));
        }
        List<List<View>> left = new ArrayList<>();
        while (count > 1) {
            long half = count / 2;
            if (count % 2 == 1) {
                long last = count - 1;
                left.add(values.stream().map(v -> v.select(last)).toList());
            }
            List<View> arguments = new ArrayList<>();
            for (long start = 0; start < 2; start++) {
                for (View value : values) {
                    arguments.add(every(value, start, half));
                }
            }
            long[] dims = new long[rest.length + 1];
            dims[0] = half;
            System.arraycopy(rest, 0, dims, 1, rest.length);
            values = need(apply(emitter, reduce.reducer(), arguments, dims));
            count = half;
        }
        List<View> total = values.stream().map(v -> v.select(0)).toList();
        for (int i = left.size() - 1; i >= 0; i--) {
            total = combine(emitter, reduce, total, left.get(i), rest);
        }
        List<View> inits = new ArrayList<>();
        for (int i = 0; i < n; i++) {
            inits.add(emitter.input(node, n + i).broadcast(rest));
        }
        total = combine(emitter, reduce, inits, total, rest);
        for (int i = 0; i < n; i++) {
            emitter.define(node.ref(i), total.get(i));
        }
        return true;
    }

    private static List<View> combine(Emitter emitter, Reduce reduce, List<View> one, List<View> other, long[] dims) {
        List<View> arguments = new ArrayList<>(one);
        arguments.addAll(other);
        return need(apply(emitter, reduce.reducer(), arguments, dims));
    }

    private static List<View> need(@Nullable List<View> views) {
        if (views == null) {
            throw new IllegalStateException("The reducer must be elementwise.");
        }
        return views;
    }

    /** Every second element of the first dim. */
    private static View every(View view, long start, long count) {
        long[] starts = new long[view.rank()];
        long[] steps = new long[view.rank()];
        long[] sizes = view.sizes();
        java.util.Arrays.fill(steps, 1);
        starts[0] = start;
        steps[0] = 2;
        sizes[0] = count;
        return view.slice(starts, sizes, steps);
    }

    /** {@code [count, rest..]}: the reduced dims merged in front. */
    private static View front(Emitter emitter, View view, List<Integer> reduced, long count, long[] rest) {
        List<Integer> order = new ArrayList<>(reduced.stream().sorted().toList());
        for (int d = 0; d < view.rank(); d++) {
            if (!reduced.contains(d)) {
                order.add(d);
            }
        }
        long[] dims = new long[rest.length + 1];
        dims[0] = count;
        System.arraycopy(rest, 0, dims, 1, rest.length);
        return emitter.reshape(
                view.permute(order.stream().mapToInt(Integer::intValue).toArray()), dims);
    }
}
