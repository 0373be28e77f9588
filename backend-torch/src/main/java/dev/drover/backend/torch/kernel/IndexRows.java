package dev.drover.backend.torch.kernel;

import dev.drover.backend.torch.emit.Binder;
import dev.drover.backend.torch.emit.View;
import dev.drover.ir.ops.GatherDims;
import dev.drover.ir.type.ArrayShape;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.pytorch.LongOptional;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * The index arithmetic that gather and scatter share. The indexed array is seen as {@code [rows, width]}, where a row is what trailing
 * dims hold that every window takes whole; the windows' elements are then rows, numbered
 *
 * <pre>  row[i.., w..] = sum over dims d of (start[i.., d] + w[d]) * rowStride[d]</pre>
 *
 * for index dims {@code i..} and the other window dims {@code w..}.
 */
final class IndexRows {
    private final GatherDims dims;
    private final ArrayShape array;
    private final ArrayShape indices;
    private final List<Long> windowSizes;
    private final List<Integer> partDims = new ArrayList<>();
    private final List<Integer> wholeDims = new ArrayList<>();
    private final List<Integer> indexDims;
    private final long[] rowStrides;
    private final long width;

    /** @param windowSizes the window's size in each dim of the array */
    IndexRows(GatherDims dims, ArrayShape array, ArrayShape indices, List<Long> windowSizes) {
        this.dims = dims;
        this.array = array;
        this.indices = indices;
        this.windowSizes = windowSizes;
        this.indexDims = dims.indexDims(indices.rank());
        List<Integer> windowDims = dims.windowDims(array.rank());
        int firstWhole = array.rank();
        while (firstWhole > 0
                && windowDims.contains(firstWhole - 1)
                && windowSizes.get(firstWhole - 1) == array.dim(firstWhole - 1)
                && !dims.startIndexMap().contains(firstWhole - 1)) {
            firstWhole--;
        }
        long product = 1;
        for (int d : windowDims) {
            (d >= firstWhole ? wholeDims : partDims).add(d);
            product *= d >= firstWhole ? array.dim(d) : 1;
        }
        this.width = product;
        this.rowStrides = array.strides();
        for (int d = 0; d < rowStrides.length; d++) {
            rowStrides[d] = width == 0 ? 0 : rowStrides[d] / width;
        }
    }

    long width() {
        return width;
    }

    long rows() {
        return width == 0 ? 0 : array.elements() / width;
    }

    /** Dims of the row numbers: index dims, then part window dims. */
    long[] rowDims() {
        List<Long> out = new ArrayList<>();
        indexDims.forEach(d -> out.add(indices.dim(d)));
        partDims.forEach(d -> out.add(windowSizes.get(d)));
        return out.stream().mapToLong(Long::longValue).toArray();
    }

    /**
     * For each dim of the result (or the updates), where it is among the dims of {@code [row dims.., whole window dims..]}.
     */
    int[] resultOrder(int resultRank) {
        List<Integer> windowDims = dims.windowDims(array.rank());
        List<Integer> resultIndexDims = dims.resultIndexDims(resultRank);
        int[] order = new int[resultRank];
        for (int i = 0; i < resultIndexDims.size(); i++) {
            order[resultIndexDims.get(i)] = i;
        }
        for (int i = 0; i < windowDims.size(); i++) {
            int d = windowDims.get(i);
            int at = partDims.contains(d)
                    ? indexDims.size() + partDims.indexOf(d)
                    : indexDims.size() + partDims.size() + wholeDims.indexOf(d);
            order[dims.offsetDims().get(i)] = at;
        }
        return order;
    }

    /** Sizes of {@code [row dims.., whole window dims..]}. */
    long[] packedDims() {
        long[] rows = rowDims();
        long[] out = java.util.Arrays.copyOf(rows, rows.length + wholeDims.size());
        for (int i = 0; i < wholeDims.size(); i++) {
            out[rows.length + i] = array.dim(wholeDims.get(i));
        }
        return out;
    }

    /** Computes the rows in each run; constant parts are made once. */
    final class Bound {
        private final List<Tensor> starts = new ArrayList<>();
        private final List<Scalar> limits = new ArrayList<>();
        private final List<Scalar> strides = new ArrayList<>();
        private final List<Tensor> offsets = new ArrayList<>();
        private final List<Scalar> sizes = new ArrayList<>();
        private final Scalar zero;
        private final Tensor base;

        Bound(Binder binder, View indexView) {
            this.zero = binder.scalar(0L);
            long[] shape = rowDims();
            Tensor indexTensor = binder.tensor(indexView);
            try (TensorOptions options = new TensorOptions(ScalarType.Long)) {
                Tensor sum = torch.zeros(shape, options);
                for (int i = 0; i < dims.startIndexMap().size(); i++) {
                    int d = dims.startIndexMap().get(i);
                    Tensor start = dims.indexVectorDim() == indices.rank()
                            ? indexTensor
                            : indexTensor.select(dims.indexVectorDim(), i);
                    long[] aligned = new long[shape.length];
                    java.util.Arrays.fill(aligned, 1);
                    for (int j = 0; j < indexDims.size(); j++) {
                        aligned[j] = indices.dim(indexDims.get(j));
                    }
                    starts.add(binder.own(strided(start, aligned)));
                    limits.add(binder.scalar(array.dim(d) - windowSizes.get(d)));
                    sizes.add(binder.scalar(array.dim(d)));
                    strides.add(binder.scalar(rowStrides[d]));
                    offsets.add(binder.own(windowOffset(d, shape)));
                }
                for (int d : partDims) {
                    sum = torch.add(sum, torch.mul(windowOffset(d, shape), new Scalar(rowStrides[d])));
                }
                for (int i = 0; i < dims.operandBatchingDims().size(); i++) {
                    int at = indexDims.indexOf(dims.startIndicesBatchingDims().get(i));
                    Tensor steps = range(shape[at], at, shape.length);
                    sum = torch.add(
                            sum,
                            torch.mul(
                                    steps,
                                    new Scalar(rowStrides[
                                            dims.operandBatchingDims().get(i)])));
                }
                this.base = binder.own(sum.contiguous());
            }
        }

        /** The window's own steps along a dim of the array, zero if it takes one element. */
        private Tensor windowOffset(int d, long[] shape) {
            int part = partDims.indexOf(d);
            return part < 0
                    ? range(1, 0, Math.max(1, shape.length)).reshape(ones(shape.length))
                    : range(windowSizes.get(d), indexDims.size() + part, shape.length);
        }

        /** Rows of in-range windows: starts are clamped. Flat. */
        Tensor clamped() {
            Tensor rows = base;
            for (int i = 0; i < starts.size(); i++) {
                Tensor start = starts.get(i).to(ScalarType.Long);
                Tensor inside = torch.clamp(
                        start,
                        new org.bytedeco.pytorch.ScalarOptional(zero),
                        new org.bytedeco.pytorch.ScalarOptional(limits.get(i)));
                rows = torch.add(rows, torch.mul(inside, strides.get(i)));
            }
            return rows.reshape(-1);
        }

        /** Rows as they come, and which of them are inside; flat. */
        Tensor[] checked() {
            Tensor rows = base;
            Tensor valid = torch.ones_like(base).to(ScalarType.Bool);
            for (int i = 0; i < starts.size(); i++) {
                Tensor start = starts.get(i).to(ScalarType.Long);
                Tensor position = torch.add(start, offsets.get(i));
                valid = valid.logical_and(position.ge(zero)).logical_and(position.lt(sizes.get(i)));
                rows = torch.add(rows, torch.mul(start, strides.get(i)));
            }
            return new Tensor[] {rows.reshape(-1), valid.reshape(-1)};
        }
    }

    private static long[] ones(int rank) {
        long[] out = new long[rank];
        java.util.Arrays.fill(out, 1);
        return out;
    }

    /** {@code 0, 1, ..} along one dim of {@code rank}. */
    private static Tensor range(long size, int at, int rank) {
        long[] shape = ones(rank);
        if (rank > 0) {
            shape[at] = size;
        }
        return torch.arange(new Scalar(size), new TensorOptions(ScalarType.Long))
                .reshape(shape);
    }

    /** A view with dims of size 1 added at the end. The storage stays, so that inputs may move. */
    private static Tensor strided(Tensor tensor, long[] sizes) {
        long[] strides = new long[sizes.length];
        for (int i = 0; i < tensor.dim(); i++) {
            strides[i] = tensor.stride(i);
        }
        return tensor.as_strided(sizes, strides, new LongOptional(tensor.storage_offset()));
    }
}
