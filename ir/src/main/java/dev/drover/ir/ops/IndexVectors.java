package dev.drover.ir.ops;

import dev.drover.ir.eval.Literal;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import java.util.List;
import java.util.function.IntToLongFunction;

/** Appends arithmetic on the index vectors of a gather or scatter, entry by entry: numbers are given by the array dim of an entry. */
final class IndexVectors {
    private final OpBuilder build;
    private final GatherDims dims;
    private final Instruction indices;

    IndexVectors(OpBuilder build, GatherDims dims, Instruction indices) {
        this.build = build;
        this.dims = dims;
        this.indices = indices;
    }

    private ArrayShape shape() {
        return indices.array();
    }

    /** The numbers of the entries, repeated to the shape of the indices; those that do not fit their type are its ends. */
    private Instruction entries(IntToLongFunction byDim) {
        DType dtype = shape().dtype();
        int size = dims.startIndexMap().size();
        long[] values = new long[size];
        boolean same = true;
        for (int i = 0; i < size; i++) {
            values[i] = fit(dtype, byDim.applyAsLong(dims.startIndexMap().get(i)));
            same &= values[i] == values[0];
        }
        if (dims.indexVectorDim() == shape().rank() || (same && size > 0)) {
            Literal scalar = Literal.ofLongs(ArrayShape.scalar(dtype), new long[] {values[0]});
            return build.broadcastTo(build.constant(scalar), shape());
        }
        Instruction vector = build.constant(Literal.ofLongs(ArrayShape.of(dtype, size), values));
        return build.broadcast(vector, shape().dims(), dims.indexVectorDim());
    }

    private static long fit(DType dtype, long value) {
        boolean signed = dtype.family() == DType.Family.SIGNED;
        int bits = signed ? dtype.bits() - 1 : Math.min(63, dtype.bits());
        long high = bits == 63 ? Long.MAX_VALUE : (1L << bits) - 1;
        long low = signed ? -high - 1 : 0;
        return Math.max(low, Math.min(high, value));
    }

    /** The indices, each not below one number and not above another. */
    Instruction clamped(IntToLongFunction low, IntToLongFunction high) {
        return build.min(build.max(indices, entries(low)), entries(high));
    }

    /** Each plus a number. */
    Instruction plus(Instruction starts, IntToLongFunction byDim) {
        return build.add(starts, entries(byDim));
    }

    /**
     * Counted from the block that this part has of the array, along the dims whose factors are listed.
     *
     * @param arrayDims factors of each array dim
     * @param part the part's shape
     */
    Instruction relative(
            Localizer local,
            Instruction starts,
            List<List<Integer>> arrayDims,
            List<Integer> factors,
            ArrayShape part) {
        Instruction result = starts;
        for (int factor : factors) {
            Instruction index = build.convert(local.partIndex(factor), shape().dtype());
            Instruction block = entries(d -> arrayDims.get(d).contains(factor) ? part.dim(d) : 0);
            result = build.sub(result, build.mul(build.broadcastTo(index, shape()), block));
        }
        return result;
    }

    /** Whether all entries of a vector are at least 0 and below a number, {@code Long.MAX_VALUE} for any; dims are the index dims. */
    Instruction inside(Instruction starts, IntToLongFunction size) {
        IntToLongFunction low = d -> size.applyAsLong(d) == Long.MAX_VALUE ? Long.MIN_VALUE : 0;
        IntToLongFunction high = d -> size.applyAsLong(d) == Long.MAX_VALUE ? Long.MAX_VALUE : size.applyAsLong(d) - 1;
        Instruction both = build.and(
                build.compare(starts, entries(low), Compare.Direction.GE),
                build.compare(starts, entries(high), Compare.Direction.LE));
        if (dims.indexVectorDim() == shape().rank()) {
            return both;
        }
        return build.reduce(Reduction.AND, both, List.of(dims.indexVectorDim()));
    }
}
