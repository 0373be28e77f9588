package dev.drover.ir.ops;

import dev.drover.ir.eval.Literal;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import java.util.List;

/** Gathers that tests run forwards, and backwards as scatters. All sizes differ. */
@SuppressWarnings("ImmutableEnumChecker") // nothing writes to the arrays
enum IndexedCase {
    /** Rows of a table. */
    ROWS(dims(7, 5), dims(3, 4), new GatherDims(List.of(2), List.of(0), List.of(0), 2), List.of(1L, 5L)),
    /** Index vectors along the first dim, entries out of order, partial windows, offset dims around the index dim. */
    VECTORS(
            dims(4, 6, 5),
            dims(2, 3),
            new GatherDims(List.of(0, 2), List.of(2), List.of(2, 0), 0),
            List.of(2L, 6L, 1L)),
    /** A batching dim in the middle, and a window of two along the indexed dim. */
    BATCHED(
            dims(3, 4, 5),
            dims(4, 6, 1),
            new GatherDims(List.of(0, 3), List.of(), List.of(2), List.of(1), List.of(0), 2),
            List.of(3L, 1L, 2L)),
    /** Batching dims in another order in the indices. */
    CROSSED(
            dims(2, 3, 7),
            dims(3, 2, 5, 1),
            new GatherDims(List.of(), List.of(2), List.of(2), List.of(0, 1), List.of(1, 0), 3),
            List.of(1L, 1L, 1L)),
    /** One window. */
    SINGLE(dims(9, 2), new long[0], new GatherDims(List.of(0, 1), List.of(), List.of(0), 0), List.of(3L, 2L)),
    /** An indexed dim of window size 1 that stays. */
    KEPT(dims(6, 4), dims(5, 1), new GatherDims(List.of(1, 2), List.of(), List.of(0), 1), List.of(1L, 4L)),
    /** Two indexed dims that are both collapsed. */
    POINTS(dims(4, 3, 6), dims(5, 2), new GatherDims(List.of(0), List.of(0, 2), List.of(0, 2), 1), List.of(1L, 3L, 1L));

    private final long[] array;
    private final long[] indices;
    private final GatherDims dims;
    private final List<Long> sliceSizes;

    IndexedCase(long[] array, long[] indices, GatherDims dims, List<Long> sliceSizes) {
        this.array = array;
        this.indices = indices;
        this.dims = dims;
        this.sliceSizes = sliceSizes;
    }

    private static long[] dims(long... dims) {
        return dims;
    }

    ArrayShape arrayShape(DType dtype) {
        return ArrayShape.of(dtype, array);
    }

    ArrayShape indexShape() {
        return ArrayShape.of(DType.S32, indices);
    }

    GatherDims dims() {
        return dims;
    }

    Gather gather() {
        return new Gather(dims, sliceSizes);
    }

    List<Long> sliceSizes() {
        return sliceSizes;
    }

    /**
     * The array index that an index of the windows stands for, as the operation semantics define it; clamped (gather) or as it is
     * (scatter).
     */
    long[] arrayIndex(Literal indexValues, long[] windowsIndex, boolean clamped) {
        long[] at = new long[array.length];
        int batchDims = 0;
        int offsetDims = 0;
        long[] index = new long[indices.length];
        for (int d = 0; d < windowsIndex.length; d++) {
            if (!dims.offsetDims().contains(d)) {
                int indexDim = batchDims < dims.indexVectorDim() ? batchDims : batchDims + 1;
                index[indexDim] = windowsIndex[d];
                batchDims++;
            }
        }
        for (int i = 0; i < dims.startIndexMap().size(); i++) {
            if (dims.indexVectorDim() < index.length) {
                index[dims.indexVectorDim()] = i;
            }
            int d = dims.startIndexMap().get(i);
            long start = indexValues.asLong(Apply.at(indexShape(), index));
            at[d] = clamped ? Math.max(0, Math.min(start, array[d] - sliceSizes.get(d))) : start;
        }
        for (int i = 0; i < dims.operandBatchingDims().size(); i++) {
            at[dims.operandBatchingDims().get(i)] =
                    index[dims.startIndicesBatchingDims().get(i)];
        }
        for (int d = 0; d < array.length; d++) {
            if (!dims.collapsedSliceDims().contains(d)
                    && !dims.operandBatchingDims().contains(d)) {
                at[d] += windowsIndex[dims.offsetDims().get(offsetDims++)];
            }
        }
        return at;
    }
}
