package dev.drover.ir.ops;

import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.ir.type.Shape;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Reads windows of {@code sliceSizes} from an operand at start indices, which are clamped so that each window is inside. Operands: array,
 * integer indices.
 */
public record Gather(GatherDims dims, List<Long> sliceSizes) implements Op {
    static final OpKind KIND =
            new OpKind("gather", source -> new Gather(GatherDims.parse(source), source.longs("slice_sizes")));

    public Gather {
        sliceSizes = List.copyOf(sliceSizes);
    }

    @Override
    public String opcode() {
        return "gather";
    }

    @Override
    public boolean readsAll(int operand) {
        return operand != 0;
    }

    @Override
    public void print(OpWriter writer) {
        dims.print(writer);
        writer.numbers("slice_sizes", sliceSizes);
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        Check.count(this, operands, 2);
        ArrayShape operand = Check.array(this, operands, 0);
        ArrayShape indices = Check.array(this, operands, 1);
        dims.check(this, operand, indices);
        Check.that(
                sliceSizes.size() == operand.rank(),
                "The slice_sizes (%s) of gather must have an entry for each dim of its operand (%s).",
                sliceSizes,
                operand);
        for (int d = 0; d < operand.rank(); d++) {
            long size = sliceSizes.get(d);
            boolean dropped = dims.collapsedSliceDims().contains(d)
                    || dims.operandBatchingDims().contains(d);
            Check.that(
                    size >= 0 && size <= operand.dim(d) && (!dropped || size <= 1),
                    "The slice_sizes (%s) of gather must fit its operand (%s), and be 1 where the result lacks the dim.",
                    sliceSizes,
                    operand);
        }
        List<Integer> windowDims = dims.windowDims(operand.rank());
        List<Integer> indexDims = dims.indexDims(indices.rank());
        int rank = windowDims.size() + indexDims.size();
        Check.that(
                dims.offsetDims().size() == windowDims.size(),
                "The offset_dims (%s) of gather must be as many as the dims of a window (%s).",
                dims.offsetDims(),
                windowDims.size());
        Check.dims(this, "offset_dims", dims.offsetDims(), rank);
        long[] out = new long[rank];
        for (int i = 0; i < windowDims.size(); i++) {
            out[dims.offsetDims().get(i)] = sliceSizes.get(windowDims.get(i));
        }
        List<Integer> resultIndexDims = dims.resultIndexDims(rank);
        for (int i = 0; i < indexDims.size(); i++) {
            out[resultIndexDims.get(i)] = indices.dim(indexDims.get(i));
        }
        return ArrayShape.of(operand.dtype(), out);
    }

    /**
     * Dims of the operand that windows take whole are shared with the result, as are index dims; batching dims with both. An indexed
     * dim of window size 1 is a sum: a part answers the indices that fall into its block and gives zero for the others. The rest is
     * whole.
     */
    @Override
    public FactorRule factors(List<Shape> operands, Shape result) {
        FactorRule.Builder rule = new FactorRule.Builder();
        IndexedFactors factors = new IndexedFactors(
                rule,
                dims,
                operands.get(0).asArray(),
                operands.get(1).asArray(),
                result.asArray(),
                sliceSizes,
                result.asArray().dtype() == DType.PRED ? Reduction.OR : Reduction.SUM,
                Factor.Kind.FREE,
                null);
        return rule.operand(factors.array())
                .operand(factors.indices())
                .result(factors.windows())
                .build();
    }

    @Override
    public List<Set<Integer>> linearGroups() {
        return List.of(Set.of(0));
    }

    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        Literal operand = operands.get(0).literal();
        Literal indices = operands.get(1).literal();
        Literal result = Literal.zeros(self.array());
        IndexedWalk walk = new IndexedWalk(dims, operand.shape(), indices, result.shape());
        ArrayShape in = operand.shape();
        for (boolean more = walk.any(); more; more = walk.next()) {
            long[] start = walk.start();
            int from = walk.batchOffset();
            for (int d = 0; d < in.rank(); d++) {
                from += (int) (Math.max(0, Math.min(start[d], in.dim(d) - sliceSizes.get(d))) * walk.arrayStride(d));
            }
            Walk window = walk.window();
            for (boolean inside = window.any(); inside; inside = window.next()) {
                result.copyElement(operand, from + window.offset(0), walk.windowsOffset() + window.offset(1));
            }
        }
        return result;
    }

    /** Each window's cotangent is added where the window was read. */
    @Override
    public List<@Nullable Instruction> vjp(
            VjpContext context, Instruction self, List<@Nullable Instruction> cotangents) {
        Instruction dz = cotangents.get(0);
        if (dz == null) {
            return Arrays.asList(null, null);
        }
        ArrayShape array = self.operand(0).array();
        IndexVectors indices = new IndexVectors(context.build(), dims, self.operand(1));
        Instruction starts = indices.clamped(d -> 0, d -> array.dim(d) - sliceSizes.get(d));
        Scatter scatter = new Scatter(dims.forScatter(), Reducers.computation(Reduction.SUM, array.dtype()));
        return Arrays.asList(
                context.build().builder().add(scatter, context.build().zeros(array), starts, dz), null);
    }

    /** Where an indexed dim is cut, this part reads the indices in its block and gives zero for the others. */
    @Override
    public Instruction localize(Localizer local) {
        ArrayShape whole = local.whole().operand(0).array();
        ArrayShape part = local.operands().get(0).array();
        List<List<Integer>> arrayDims = local.rule().operands().get(0);
        List<Long> sizes = new ArrayList<>();
        for (int d = 0; d < whole.rank(); d++) {
            sizes.add(sliceSizes.get(d) == whole.dim(d) && whole.dim(d) > 1 ? part.dim(d) : sliceSizes.get(d));
        }
        Gather gather = new Gather(dims, sizes);
        List<Integer> cut = Parts.cut(local, arrayDims, Factor.Kind.REDUCTION);
        if (cut.isEmpty()) {
            return local.builder().add(gather, local.operands());
        }
        OpBuilder build = new OpBuilder(local.builder());
        IndexVectors indices = new IndexVectors(build, dims, local.operands().get(1));
        Instruction starts = indices.clamped(
                d -> isCut(cut, arrayDims, d) ? 0 : Long.MIN_VALUE,
                d -> isCut(cut, arrayDims, d) ? whole.dim(d) - 1 : Long.MAX_VALUE);
        starts = indices.relative(local, starts, arrayDims, cut, part);
        Instruction inside = indices.inside(starts, d -> isCut(cut, arrayDims, d) ? part.dim(d) : Long.MAX_VALUE);
        Instruction read = local.builder().add(gather, local.operands().get(0), starts);
        int[] indexDims = dims.resultIndexDims(read.array().rank()).stream()
                .mapToInt(Integer::intValue)
                .toArray();
        return build.select(build.broadcast(inside, read.array().dims(), indexDims), read, build.zerosLike(read));
    }

    static boolean isCut(List<Integer> cut, List<List<Integer>> dims, int dim) {
        return dims.get(dim).stream().anyMatch(cut::contains);
    }
}
