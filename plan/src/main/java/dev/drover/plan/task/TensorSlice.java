package dev.drover.plan.task;

import dev.drover.ir.eval.Literal;
import dev.drover.ir.type.ArrayShape;
import dev.drover.plan.mesh.Mesh;
import dev.drover.plan.sharding.AxisState;
import dev.drover.plan.sharding.Sharding;
import java.util.ArrayList;
import java.util.List;

/**
 * The piece of a whole tensor that one device (or one micro-batch) holds: the units u of each cut dim with {@code u / stride %
 * parts == index}, in order. Without cuts it is the whole tensor.
 */
public record TensorSlice(ArrayShape whole, List<Cut> cuts) {

    /** One digit of a dim's index, fixed. Strides are in units of the whole dim. */
    public record Cut(int dim, long stride, int parts, int index) {}

    public TensorSlice {
        cuts = List.copyOf(cuts);
    }

    /** What device {@code device} of a mesh holds under a sharding (partial axes are ignored). */
    public static TensorSlice of(ArrayShape whole, Sharding sharding, Mesh mesh, int device) {
        List<Cut> cuts = new ArrayList<>();
        for (int axis = 0; axis < mesh.rank(); axis++) {
            if (sharding.axis(axis) instanceof AxisState.Cut cut && mesh.size(axis) > 1) {
                cuts.add(new Cut(cut.dim(), cut.stride(), mesh.size(axis), mesh.coordinate(device, axis)));
            }
        }
        return new TensorSlice(whole, cuts);
    }

    /** This slice cut once more. */
    public TensorSlice with(Cut cut) {
        List<Cut> more = new ArrayList<>(cuts);
        more.add(cut);
        return new TensorSlice(whole, more);
    }

    /** Shape of the piece. */
    public ArrayShape local() {
        long[] dims = whole.dims();
        for (Cut cut : cuts) {
            dims[cut.dim()] /= cut.parts();
        }
        return whole.withDims(dims);
    }

    /** Copies the piece out of the whole tensor. */
    public Literal extract(Literal from) {
        Literal piece = Literal.zeros(local());
        int[] at = offsets();
        for (int i = 0; i < at.length; i++) {
            piece.copyElement(from, at[i], i);
        }
        return piece;
    }

    /** Copies the piece into the whole tensor. */
    public void insert(Literal piece, Literal into) {
        int[] at = offsets();
        for (int i = 0; i < at.length; i++) {
            into.copyElement(piece, i, at[i]);
        }
    }

    /** For each element of the piece in row-major order, its row-major position in the whole tensor. */
    public int[] offsets() {
        long[] strides = whole.strides();
        int[] offsets = {0};
        for (int dim = 0; dim < whole.rank(); dim++) {
            int[] units = units(dim);
            int[] next = new int[offsets.length * units.length];
            int n = 0;
            for (int base : offsets) {
                for (int unit : units) {
                    next[n++] = Math.toIntExact(base + unit * strides[dim]);
                }
            }
            offsets = next;
        }
        return offsets;
    }

    /** The units of one dim that the piece holds, ascending. */
    public int[] units(int dim) {
        return java.util.stream.IntStream.range(0, Math.toIntExact(whole.dim(dim)))
                .filter(unit -> holds(dim, unit))
                .toArray();
    }

    private boolean holds(int dim, int unit) {
        for (Cut cut : cuts) {
            if (cut.dim() == dim && unit / cut.stride() % cut.parts() != cut.index()) {
                return false;
            }
        }
        return true;
    }
}
