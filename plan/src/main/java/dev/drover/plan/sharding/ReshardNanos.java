package dev.drover.plan.sharding;

import dev.drover.ir.type.ArrayShape;
import dev.drover.plan.mesh.Mesh;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The time of the path that {@link Resharder} would find, without the path: a search for shardings asks for millions. With r axes there
 * are 3^r shardings on the way, written as a number of r digits; the digit of an axis says
 *
 * <pre>
 *   0   as at the start        1   as at the end        2   replicated
 * </pre>
 */
final class ReshardNanos {
    private static final int DIGITS = 3;

    private final Mesh mesh;
    private final CollectiveCost cost;
    private final ArrayShape shape;
    private final List<AxisState[]> statesByAxis = new ArrayList<>();
    /** Nodes whose digit of an axis is one up. */
    private final int[] unitByAxis;

    private final int nodes;
    private final int end;

    ReshardNanos(Mesh mesh, CollectiveCost cost, ArrayShape shape, Sharding from, Sharding to) {
        this.mesh = mesh;
        this.cost = cost;
        this.shape = shape;
        this.unitByAxis = new int[mesh.rank()];
        int unit = 1;
        int last = 0;
        for (int axis = 0; axis < mesh.rank(); axis++) {
            statesByAxis.add(new AxisState[] {from.axis(axis), to.axis(axis), AxisState.REPLICATED});
            unitByAxis[axis] = unit;
            last += canonical(axis, 1) * unit;
            unit *= DIGITS;
        }
        this.nodes = unit;
        this.end = last;
    }

    /** Equal states of an axis have one digit, the smallest. */
    private int canonical(int axis, int digit) {
        AxisState[] states = statesByAxis.get(axis);
        int same = 0;
        while (!states[same].equals(states[digit])) {
            same++;
        }
        return same;
    }

    private AxisState state(int node, int axis) {
        return statesByAxis.get(axis)[node / unitByAxis[axis] % DIGITS];
    }

    double least() {
        double[] nanos = new double[nodes];
        boolean[] done = new boolean[nodes];
        Arrays.fill(nanos, Double.POSITIVE_INFINITY);
        nanos[0] = 0;
        while (true) {
            int at = -1;
            for (int node = 0; node < nodes; node++) {
                if (!done[node] && !Double.isInfinite(nanos[node]) && (at < 0 || nanos[node] < nanos[at])) {
                    at = node;
                }
            }
            if (at < 0) {
                throw new IllegalStateException("The shardings of a tensor (" + shape + ") must be joined by a path.");
            }
            if (at == end) {
                return nanos[at];
            }
            done[at] = true;
            for (int axis = 0; axis < mesh.rank(); axis++) {
                for (int digit = 1; digit < DIGITS; digit++) {
                    relax(at, axis, canonical(axis, digit), nanos);
                }
            }
        }
    }

    private void relax(int at, int axis, int digit, double[] nanos) {
        int next = at + (digit - at / unitByAxis[axis] % DIGITS) * unitByAxis[axis];
        AxisState before = state(at, axis);
        AxisState after = state(next, axis);
        if (next == at || !Resharder.isStep(shape, before, after) || !isPossible(next)) {
            return;
        }
        CollectiveKind kind = Resharder.collective(before, after);
        double step = kind == null
                ? cost.localNanos(localBytes(next))
                : cost.nanos(kind, axis, localBytes(kind == CollectiveKind.ALL_GATHER ? next : at));
        nanos[next] = Math.min(nanos[next], nanos[at] + step);
    }

    private long localBytes(int node) {
        long[] dims = shape.dims();
        for (int axis = 0; axis < mesh.rank(); axis++) {
            if (state(node, axis) instanceof AxisState.Cut cut) {
                dims[cut.dim()] /= mesh.size(axis);
            }
        }
        long elements = 1;
        for (long dim : dims) {
            elements *= dim;
        }
        return shape.dtype().sizeBytes(elements);
    }

    /** As {@link Sharding#fits}, and of one kind of partial at most. */
    private boolean isPossible(int node) {
        @Nullable AxisState partial = null;
        boolean cutTwice = false;
        for (int axis = 0; axis < mesh.rank(); axis++) {
            AxisState state = state(node, axis);
            if (state instanceof AxisState.Partial) {
                if (partial != null && !partial.equals(state)) {
                    return false;
                }
                partial = state;
            } else if (state instanceof AxisState.Cut cut) {
                if (cut.dim() >= shape.rank() || shape.dim(cut.dim()) % (cut.stride() * mesh.size(axis)) != 0) {
                    return false;
                }
                for (int other = 0; other < axis; other++) {
                    cutTwice |= state(node, other) instanceof AxisState.Cut one && one.dim() == cut.dim();
                }
            }
        }
        return !cutTwice || sharding(node).fits(shape, mesh);
    }

    private Sharding sharding(int node) {
        List<AxisState> states = new ArrayList<>();
        for (int axis = 0; axis < mesh.rank(); axis++) {
            states.add(state(node, axis));
        }
        return new Sharding(states);
    }
}
