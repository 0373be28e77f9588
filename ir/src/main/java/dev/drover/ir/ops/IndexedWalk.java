package dev.drover.ir.ops;

import dev.drover.ir.eval.Literal;
import dev.drover.ir.type.ArrayShape;
import java.util.List;

/**
 * Steps through the index vectors of a gather or scatter: for each the start of its window in the indexed array, and where its window
 * begins in the array of windows (a gather's result, a scatter's updates).
 */
final class IndexedWalk {
    private final GatherDims dims;
    private final long[] arrayStrides;
    private final Literal indices;
    private final int vectorSize;
    private final int vectorStride;
    private final long[] windowSizes;
    private final long[] windowArrayStrides;
    private final long[] windowStrides;
    private final Walk walk;
    private final long[] start;

    IndexedWalk(GatherDims dims, ArrayShape array, Literal indices, ArrayShape windows) {
        this.dims = dims;
        this.arrayStrides = array.strides();
        this.indices = indices;
        ArrayShape index = indices.shape();
        this.vectorSize = (int) dims.vectorSize(index);
        this.vectorStride = dims.indexVectorDim() == index.rank() ? 0 : (int) index.strides()[dims.indexVectorDim()];
        List<Integer> windowDims = dims.windowDims(array.rank());
        this.windowSizes = Walk.pick(windows.dims(), dims.offsetDims());
        this.windowArrayStrides = Walk.pick(arrayStrides, windowDims);
        this.windowStrides = Walk.pick(windows.strides(), dims.offsetDims());
        List<Integer> indexDims = dims.indexDims(index.rank());
        long[] batchStrides = new long[indexDims.size()];
        for (int i = 0; i < batchStrides.length; i++) {
            int batching = dims.startIndicesBatchingDims().indexOf(indexDims.get(i));
            batchStrides[i] =
                    batching < 0 ? 0 : arrayStrides[dims.operandBatchingDims().get(batching)];
        }
        this.walk = new Walk(
                Walk.pick(index.dims(), indexDims),
                Walk.pick(index.strides(), indexDims),
                batchStrides,
                Walk.pick(windows.strides(), dims.resultIndexDims(windows.rank())));
        this.start = new long[array.rank()];
    }

    boolean any() {
        return walk.any();
    }

    boolean next() {
        return walk.next();
    }

    /** The current index vector, by array dim; 0 where a dim has no index. The array is reused. */
    long[] start() {
        for (int i = 0; i < vectorSize; i++) {
            start[dims.startIndexMap().get(i)] = indices.longs()[walk.offset(0) + i * vectorStride];
        }
        return start;
    }

    long arrayStride(int dim) {
        return arrayStrides[dim];
    }

    /** Offset in the array that comes from batching dims. */
    int batchOffset() {
        return walk.offset(1);
    }

    /** Offset of the current window in the array of windows. */
    int windowsOffset() {
        return walk.offset(2);
    }

    /** A walk over one window: offset 0 in the array, offset 1 in the array of windows. */
    Walk window() {
        return new Walk(windowSizes, windowArrayStrides, windowStrides);
    }
}
