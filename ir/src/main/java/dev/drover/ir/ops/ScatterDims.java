package dev.drover.ir.ops;

import java.util.List;

/**
 * HLO's scatter dimension numbers: the mirror of {@link GatherDims}, the updates in the place of a gather's result.
 *
 * @param updateWindowDims dims of the updates that run inside a window
 * @param insertedWindowDims operand dims of window size 1 that the updates lack
 * @param scatterDimsToOperandDims operand dim of each entry of an index vector
 * @param inputBatchingDims operand dims that are walked along with index dims; the updates lack them
 * @param scatterIndicesBatchingDims the index dims for those
 * @param indexVectorDim index dim that holds the vectors; the index array's rank if vectors are single numbers
 */
public record ScatterDims(
        List<Integer> updateWindowDims,
        List<Integer> insertedWindowDims,
        List<Integer> scatterDimsToOperandDims,
        List<Integer> inputBatchingDims,
        List<Integer> scatterIndicesBatchingDims,
        int indexVectorDim) {

    public ScatterDims {
        updateWindowDims = List.copyOf(updateWindowDims);
        insertedWindowDims = List.copyOf(insertedWindowDims);
        scatterDimsToOperandDims = List.copyOf(scatterDimsToOperandDims);
        inputBatchingDims = List.copyOf(inputBatchingDims);
        scatterIndicesBatchingDims = List.copyOf(scatterIndicesBatchingDims);
    }

    /** Without batching dims. */
    public ScatterDims(
            List<Integer> updateWindowDims,
            List<Integer> insertedWindowDims,
            List<Integer> scatterDimsToOperandDims,
            int indexVectorDim) {
        this(updateWindowDims, insertedWindowDims, scatterDimsToOperandDims, List.of(), List.of(), indexVectorDim);
    }

    static ScatterDims parse(OpSource source) {
        return new ScatterDims(
                source.ints("update_window_dims"),
                source.ints("inserted_window_dims"),
                source.ints("scatter_dims_to_operand_dims"),
                source.ints("input_batching_dims"),
                source.ints("scatter_indices_batching_dims"),
                source.integer("index_vector_dim", -1));
    }

    void print(OpWriter writer) {
        writer.numbers("update_window_dims", updateWindowDims);
        writer.numbers("inserted_window_dims", insertedWindowDims);
        writer.numbers("scatter_dims_to_operand_dims", scatterDimsToOperandDims);
        if (!inputBatchingDims.isEmpty()) {
            writer.numbers("input_batching_dims", inputBatchingDims);
            writer.numbers("scatter_indices_batching_dims", scatterIndicesBatchingDims);
        }
        writer.attribute("index_vector_dim", Integer.toString(indexVectorDim));
    }

    /** The gather that reads what this scatter writes. */
    public GatherDims asGather() {
        return new GatherDims(
                updateWindowDims,
                insertedWindowDims,
                scatterDimsToOperandDims,
                inputBatchingDims,
                scatterIndicesBatchingDims,
                indexVectorDim);
    }
}
