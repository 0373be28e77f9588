package dev.drover.ir.ops;

import dev.drover.ir.type.ArrayShape;
import java.util.ArrayList;
import java.util.List;

/**
 * HLO's gather dimension numbers. Each vector of start indices names a window of the operand; result dims are the windows' own
 * ({@code offsetDims}) and those of the index array without the vector's dim.
 *
 * @param offsetDims result dims that run inside a window
 * @param collapsedSliceDims operand dims of window size 1 that the result lacks
 * @param startIndexMap operand dim of each entry of an index vector
 * @param operandBatchingDims operand dims that are walked along with index dims; the result lacks them
 * @param startIndicesBatchingDims the index dims for those
 * @param indexVectorDim index dim that holds the vectors; the index array's rank if vectors are single numbers
 */
public record GatherDims(
        List<Integer> offsetDims,
        List<Integer> collapsedSliceDims,
        List<Integer> startIndexMap,
        List<Integer> operandBatchingDims,
        List<Integer> startIndicesBatchingDims,
        int indexVectorDim) {

    public GatherDims {
        offsetDims = List.copyOf(offsetDims);
        collapsedSliceDims = List.copyOf(collapsedSliceDims);
        startIndexMap = List.copyOf(startIndexMap);
        operandBatchingDims = List.copyOf(operandBatchingDims);
        startIndicesBatchingDims = List.copyOf(startIndicesBatchingDims);
    }

    /** Without batching dims. */
    public GatherDims(
            List<Integer> offsetDims,
            List<Integer> collapsedSliceDims,
            List<Integer> startIndexMap,
            int indexVectorDim) {
        this(offsetDims, collapsedSliceDims, startIndexMap, List.of(), List.of(), indexVectorDim);
    }

    static GatherDims parse(OpSource source) {
        return new GatherDims(
                source.ints("offset_dims"),
                source.ints("collapsed_slice_dims"),
                source.ints("start_index_map"),
                source.ints("operand_batching_dims"),
                source.ints("start_indices_batching_dims"),
                source.integer("index_vector_dim", -1));
    }

    void print(OpWriter writer) {
        writer.numbers("offset_dims", offsetDims);
        writer.numbers("collapsed_slice_dims", collapsedSliceDims);
        writer.numbers("start_index_map", startIndexMap);
        if (!operandBatchingDims.isEmpty()) {
            writer.numbers("operand_batching_dims", operandBatchingDims);
            writer.numbers("start_indices_batching_dims", startIndicesBatchingDims);
        }
        writer.attribute("index_vector_dim", Integer.toString(indexVectorDim));
    }

    /** Fails where these numbers do not fit the indexed array and the indices of an op. */
    void check(Op op, ArrayShape array, ArrayShape indices) {
        Check.that(indices.dtype().isInteger(), "The indices (%s) of %s must be integers.", indices, op.opcode());
        Check.that(
                indexVectorDim >= 0 && indexVectorDim <= indices.rank(),
                "The index_vector_dim (%s) of %s must be at most the rank of its indices (%s).",
                indexVectorDim,
                op.opcode(),
                indices);
        Check.that(
                startIndexMap.size() == vectorSize(indices),
                "The start_index_map (%s) of %s must have an entry for each number of an index vector (%s).",
                startIndexMap,
                op.opcode(),
                vectorSize(indices));
        List<Integer> dropped = new ArrayList<>(collapsedSliceDims);
        dropped.addAll(operandBatchingDims);
        Check.dims(op, "collapsed and batching dims", dropped, array.rank());
        List<Integer> indexed = new ArrayList<>(startIndexMap);
        indexed.addAll(operandBatchingDims);
        Check.dims(op, "start_index_map and batching dims", indexed, array.rank());
        Check.dims(op, "start_indices_batching_dims", startIndicesBatchingDims, indices.rank());
        Check.that(
                operandBatchingDims.size() == startIndicesBatchingDims.size(),
                "The batching dims (%s and %s) of %s must be as many in its operand as in its indices.",
                operandBatchingDims,
                startIndicesBatchingDims,
                op.opcode());
        for (int i = 0; i < operandBatchingDims.size(); i++) {
            long ofArray = array.dim(operandBatchingDims.get(i));
            long ofIndices = indices.dim(startIndicesBatchingDims.get(i));
            Check.that(
                    startIndicesBatchingDims.get(i) != indexVectorDim && ofArray == ofIndices,
                    "The batching dims (%s and %s) of %s must be of the same sizes in its operand (%s) and its indices (%s).",
                    operandBatchingDims,
                    startIndicesBatchingDims,
                    op.opcode(),
                    array,
                    indices);
        }
    }

    /** Operand dims that the result has, in order: result dim {@code offsetDims[i]} runs along {@code windowDims[i]}. */
    public List<Integer> windowDims(int operandRank) {
        List<Integer> dims = new ArrayList<>();
        for (int d = 0; d < operandRank; d++) {
            if (!collapsedSliceDims.contains(d) && !operandBatchingDims.contains(d)) {
                dims.add(d);
            }
        }
        return dims;
    }

    /** Index dims without the vector's, in order. */
    public List<Integer> indexDims(int indicesRank) {
        List<Integer> dims = new ArrayList<>();
        for (int d = 0; d < indicesRank; d++) {
            if (d != indexVectorDim) {
                dims.add(d);
            }
        }
        return dims;
    }

    /** Result dims that run along {@link #indexDims}, in order. */
    public List<Integer> resultIndexDims(int resultRank) {
        List<Integer> dims = new ArrayList<>();
        for (int d = 0; d < resultRank; d++) {
            if (!offsetDims.contains(d)) {
                dims.add(d);
            }
        }
        return dims;
    }

    /** Numbers in an index vector. */
    public long vectorSize(ArrayShape indices) {
        return indexVectorDim == indices.rank() ? 1 : indices.dim(indexVectorDim);
    }

    /** The same numbers for a scatter into what this gathers from. */
    public ScatterDims forScatter() {
        return new ScatterDims(
                offsetDims,
                collapsedSliceDims,
                startIndexMap,
                operandBatchingDims,
                startIndicesBatchingDims,
                indexVectorDim);
    }
}
