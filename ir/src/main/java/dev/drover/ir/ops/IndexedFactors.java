package dev.drover.ir.ops;

import dev.drover.ir.type.ArrayShape;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Factors of a gather or scatter between the indexed array, the indices and the array of windows (a gather's result, a scatter's
 * updates).
 */
final class IndexedFactors {
    private final List<List<Integer>> array;
    private final List<List<Integer>> indices;
    private final List<List<Integer>> windows;

    /**
     * @param sliceSizes window sizes by array dim
     * @param arrayReduction what an indexed array dim of window size 1 is: a reduction (gather: parts answer the indices in their block and
     *     give zero elsewhere) or, if null, free (scatter: parts take the updates for their block)
     * @param indexKind what index dims are, other than batching dims
     * @param indexReduction their reduction, if that is their kind
     */
    IndexedFactors(
            FactorRule.Builder rule,
            GatherDims dims,
            ArrayShape arrayShape,
            ArrayShape indexShape,
            ArrayShape windowShape,
            List<Long> sliceSizes,
            @Nullable Reduction arrayReduction,
            Factor.Kind indexKind,
            @Nullable Reduction indexReduction) {
        this.array = blank(arrayShape.rank());
        this.indices = blank(indexShape.rank());
        this.windows = blank(windowShape.rank());
        List<Integer> windowDims = dims.windowDims(arrayShape.rank());
        for (int d = 0; d < arrayShape.rank(); d++) {
            long size = arrayShape.dim(d);
            int inWindow = windowDims.indexOf(d);
            boolean whole = inWindow >= 0 && sliceSizes.get(d) == size;
            if (size == 1 || dims.operandBatchingDims().contains(d)) {
                continue;
            }
            if (whole) {
                List<Integer> factor = List.of(rule.free(size));
                array.set(d, factor);
                windows.set(dims.offsetDims().get(inWindow), factor);
            } else if (sliceSizes.get(d) == 1 && dims.startIndexMap().contains(d)) {
                array.set(d, List.of(arrayReduction == null ? rule.free(size) : rule.reduction(size, arrayReduction)));
            } else {
                array.set(d, List.of(rule.factor(size, Factor.Kind.WHOLE)));
                if (inWindow >= 0 && sliceSizes.get(d) > 1) {
                    windows.set(
                            dims.offsetDims().get(inWindow),
                            List.of(rule.factor(sliceSizes.get(d), Factor.Kind.WHOLE)));
                }
            }
        }
        List<Integer> indexDims = dims.indexDims(indexShape.rank());
        List<Integer> windowIndexDims = dims.resultIndexDims(windowShape.rank());
        for (int i = 0; i < indexDims.size(); i++) {
            int indexDim = indexDims.get(i);
            long size = indexShape.dim(indexDim);
            if (size == 1) {
                continue;
            }
            int batching = dims.startIndicesBatchingDims().indexOf(indexDim);
            int factorOfDim;
            if (batching >= 0) {
                factorOfDim = rule.free(size);
            } else if (indexReduction != null) {
                factorOfDim = rule.reduction(size, indexReduction);
            } else {
                factorOfDim = rule.factor(size, indexKind);
            }
            List<Integer> factor = List.of(factorOfDim);
            indices.set(indexDim, factor);
            windows.set(windowIndexDims.get(i), factor);
            if (batching >= 0) {
                array.set(dims.operandBatchingDims().get(batching), factor);
            }
        }
        if (dims.indexVectorDim() < indexShape.rank() && indexShape.dim(dims.indexVectorDim()) > 1) {
            indices.set(
                    dims.indexVectorDim(),
                    List.of(rule.factor(indexShape.dim(dims.indexVectorDim()), Factor.Kind.WHOLE)));
        }
    }

    private static List<List<Integer>> blank(int rank) {
        return new ArrayList<>(Collections.nCopies(rank, List.of()));
    }

    List<List<Integer>> array() {
        return array;
    }

    List<List<Integer>> indices() {
        return indices;
    }

    List<List<Integer>> windows() {
        return windows;
    }
}
