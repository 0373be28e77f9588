package dev.drover.plan.sharding;

import dev.drover.ir.type.ArrayShape;
import dev.drover.plan.mesh.Mesh;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * Where the elements of a tensor are on a mesh: for each axis, cut (dim and stride, in units of the whole tensor), partial or
 * replicated (Rhino, section on strided partition). Axes that cut one dim take disjoint digits of its index, so that steps that
 * change one axis commute.
 */
public record Sharding(List<AxisState> byAxis) {
    public Sharding {
        byAxis = List.copyOf(byAxis);
    }

    public static Sharding replicated(Mesh mesh) {
        return new Sharding(Collections.nCopies(mesh.rank(), AxisState.REPLICATED));
    }

    public AxisState axis(int axis) {
        return byAxis.get(axis);
    }

    public Sharding with(int axis, AxisState state) {
        List<AxisState> copy = new ArrayList<>(byAxis);
        copy.set(axis, state);
        return new Sharding(copy);
    }

    public boolean hasPartial() {
        return byAxis.stream().anyMatch(AxisState.Partial.class::isInstance);
    }

    public boolean isReplicated() {
        return byAxis.stream().allMatch(AxisState.Replicated.class::isInstance);
    }

    /** The same with partial axes replicated: what a complete (reduced) value may look like. */
    public Sharding withoutPartial() {
        List<AxisState> states = new ArrayList<>();
        for (AxisState state : byAxis) {
            states.add(state instanceof AxisState.Partial ? AxisState.REPLICATED : state);
        }
        return new Sharding(states);
    }

    /** Shape of a device's piece. */
    public ArrayShape local(ArrayShape whole, Mesh mesh) {
        long[] dims = whole.dims();
        for (int axis = 0; axis < byAxis.size(); axis++) {
            if (byAxis.get(axis) instanceof AxisState.Cut cut) {
                dims[cut.dim()] /= mesh.size(axis);
            }
        }
        return whole.withDims(dims);
    }

    /** Bytes of a device's piece. */
    public long localBytes(ArrayShape whole, Mesh mesh) {
        return local(whole, mesh).sizeBytes();
    }

    /** Whether every cut divides its dim and cuts of one dim take disjoint digits. */
    public boolean fits(ArrayShape whole, Mesh mesh) {
        for (int a = 0; a < byAxis.size(); a++) {
            if (!(byAxis.get(a) instanceof AxisState.Cut cut)) {
                continue;
            }
            if (cut.dim() >= whole.rank() || whole.dim(cut.dim()) % (cut.stride() * mesh.size(a)) != 0) {
                return false;
            }
            for (int b = 0; b < byAxis.size(); b++) {
                if (b != a
                        && byAxis.get(b) instanceof AxisState.Cut other
                        && other.dim() == cut.dim()
                        && (other.stride() < cut.stride()
                                ? cut.stride() % (other.stride() * mesh.size(b)) != 0
                                : other.stride() % (cut.stride() * mesh.size(a)) != 0)) {
                    return false;
                }
            }
        }
        return true;
    }

    /**
     * The stride of an axis's cut within the local piece of a tensor in which that axis itself is not cut: the whole stride over
     * the sizes of the axes that cut the same dim with a smaller stride.
     */
    public long localStride(int axis, AxisState.Cut cut, Mesh mesh) {
        long stride = cut.stride();
        for (int b = 0; b < byAxis.size(); b++) {
            if (b != axis
                    && byAxis.get(b) instanceof AxisState.Cut other
                    && other.dim() == cut.dim()
                    && other.stride() < cut.stride()) {
                stride /= mesh.size(b);
            }
        }
        return stride;
    }

    /** {@code R}, {@code S0}, {@code S0/4} (stride 4), {@code P(sum)} per axis, as {@code x:S0 y:R}. */
    public String text(Mesh mesh) {
        StringBuilder text = new StringBuilder();
        for (int a = 0; a < byAxis.size(); a++) {
            text.append(a == 0 ? "" : " ").append(mesh.axes().get(a).name()).append(':');
            AxisState state = byAxis.get(a);
            if (state instanceof AxisState.Cut cut) {
                text.append('S').append(cut.dim()).append('/').append(cut.stride());
            } else if (state instanceof AxisState.Partial partial) {
                text.append("P(")
                        .append(partial.reduction().name().toLowerCase(java.util.Locale.ROOT))
                        .append(')');
            } else {
                text.append('R');
            }
        }
        return text.toString();
    }
}
