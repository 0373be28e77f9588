package dev.drover.ir.ops;

import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What local forms of ops need where a factor that exchanges is cut: a part's block with what it needs of its neighbours'. */
final class Halos {
    private Halos() {}

    /** The factor of a dim that exchanges and is cut, or -1. */
    static int cut(Localizer local, List<Integer> dim) {
        for (int factor : dim) {
            if (local.parts(factor) > 1 && local.rule().factors().get(factor).spansDims()) {
                return factor;
            }
        }
        return -1;
    }

    /** The {@link Halo} of a factor that has one. */
    static Halo of(Localizer local, int factor) {
        if (local.rule().factors().get(factor).exchange() instanceof Halo halo) {
            return halo;
        }
        throw new IllegalStateException("The factor (" + factor + ") of " + local.rule() + " must have a halo.");
    }

    /**
     * The elements that a part needs along a dim, as many on each part. Where they lie outside the dim they are {@code fill}.
     *
     * <pre>
     *   end of the part before | own block | start of the part after   -> (dynamic-)slice of what is needed
     * </pre>
     *
     * @param fill a scalar; null for zeros
     */
    static Instruction extended(
            Localizer local, int factor, Halo halo, Instruction value, int dim, @Nullable Instruction fill) {
        long parts = local.parts(factor);
        long block = halo.block(parts);
        long before = halo.before(parts);
        long after = halo.after(parts);
        Instruction used = halo.leaves(parts) ? fill : null;
        OpBuilder build = new OpBuilder(local.builder());
        List<Instruction> pieces = new ArrayList<>();
        for (long hops = (before + block - 1) / block; hops >= 1; hops--) {
            long taken = Math.min(block, before - (hops - 1) * block);
            pieces.add(neighbours(local, factor, -hops, cutOut(build, value, dim, block - taken, block), used));
        }
        pieces.add(value);
        for (long hops = 1; (hops - 1) * block < after; hops++) {
            long taken = Math.min(block, after - (hops - 1) * block);
            pieces.add(neighbours(local, factor, hops, cutOut(build, value, dim, 0, taken), used));
        }
        Instruction joined = pieces.size() == 1 ? value : build.concat(dim, pieces);
        long start = before + halo.first();
        long drift = halo.step(parts) - block;
        if (drift == 0) {
            return cutOut(build, joined, dim, start, start + halo.needed(parts));
        }
        List<Instruction> starts = new ArrayList<>();
        for (int d = 0; d < value.array().rank(); d++) {
            starts.add(
                    d == dim
                            ? build.add(build.mul(local.partIndex(factor), (double) drift), (double) start)
                            : build.constant(DType.S32, 0));
        }
        return build.dynamicSlice(
                joined, starts, joined.array().withDim(dim, halo.needed(parts)).dims());
    }

    /** What the part that is {@code distance} further gives; {@code fill} where there is none. */
    private static Instruction neighbours(
            Localizer local, int factor, long distance, Instruction piece, @Nullable Instruction fill) {
        Instruction got = local.fetched(factor, part -> part + distance, piece);
        if (fill == null || Parts.isConstant(fill, Literals.zero(piece.array().dtype()))) {
            return got;
        }
        return whereInside(local, factor, distance, got, fill);
    }

    /** A value on the parts that have a part {@code distance} further, and another (of its shape, or a scalar) on those that have none. */
    static Instruction whereInside(
            Localizer local, int factor, long distance, Instruction inside, Instruction outside) {
        OpBuilder build = new OpBuilder(local.builder());
        Instruction index = local.partIndex(factor);
        Instruction is = distance < 0
                ? build.compare(index, (double) -distance, Compare.Direction.GE)
                : build.compare(index, (double) (local.parts(factor) - distance), Compare.Direction.LT);
        ArrayShape shape = inside.array();
        return build.select(build.broadcastTo(is, shape), inside, build.broadcastTo(outside, shape));
    }

    /** The elements from {@code start} to before {@code limit} of one dim; the value itself if these are all. */
    static Instruction cutOut(OpBuilder build, Instruction value, int dim, long start, long limit) {
        return start == 0 && limit == value.array().dim(dim) ? value : build.slice(value, dim, start, limit);
    }
}
