package dev.drover.ir.ops;

import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.Shape;
import dev.drover.ir.type.TupleShape;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Folds windows of updates into copies of arrays at indices. Operands: n arrays, integer indices, n arrays of updates; the computation takes
 * n present values, then n updates. Elements that would fall outside are dropped. The result is an array for n = 1, else a tuple.
 */
public record Scatter(ScatterDims dims, Computation combiner) implements Op {
    static final OpKind KIND =
            new OpKind("scatter", source -> new Scatter(ScatterDims.parse(source), source.computation("to_apply")));

    @Override
    public String opcode() {
        return "scatter";
    }

    @Override
    public List<Computation> calls() {
        return List.of(combiner);
    }

    @Override
    public Op withCalls(List<Computation> callees) {
        return new Scatter(dims, callees.get(0));
    }

    @Override
    public void print(OpWriter writer) {
        dims.print(writer);
        writer.computation("to_apply", combiner);
    }

    /** The reduction that the combiner is, or null for others and for several arrays. */
    public @Nullable Reduction reduction() {
        return Reducers.of(combiner);
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        Check.that(
                operands.size() >= 3 && operands.size() % 2 == 1,
                "The operands (%s) of scatter must be arrays, indices and as many updates.",
                operands.size());
        int n = operands.size() / 2;
        ArrayShape first = Check.array(this, operands, 0);
        ArrayShape indices = Check.array(this, operands, n);
        ArrayShape firstUpdates = Check.array(this, operands, n + 1);
        GatherDims gather = dims.asGather();
        gather.check(this, first, indices);
        List<Integer> windowDims = gather.windowDims(first.rank());
        List<Integer> indexDims = gather.indexDims(indices.rank());
        int rank = windowDims.size() + indexDims.size();
        Check.that(
                dims.updateWindowDims().size() == windowDims.size() && firstUpdates.rank() == rank,
                "The update_window_dims (%s) of scatter must be as many as the window dims (%s), and its updates (%s) of rank %s.",
                dims.updateWindowDims(),
                windowDims.size(),
                firstUpdates,
                rank);
        Check.dims(this, "update_window_dims", dims.updateWindowDims(), rank);
        for (int i = 0; i < windowDims.size(); i++) {
            Check.that(
                    firstUpdates.dim(dims.updateWindowDims().get(i)) <= first.dim(windowDims.get(i)),
                    "The windows of the updates (%s) of scatter must be no larger than its operand (%s).",
                    firstUpdates,
                    first);
        }
        List<Integer> updateIndexDims = gather.resultIndexDims(rank);
        for (int i = 0; i < indexDims.size(); i++) {
            Check.that(
                    firstUpdates.dim(updateIndexDims.get(i)) == indices.dim(indexDims.get(i)),
                    "The updates (%s) of scatter must have the dims of its indices (%s) outside its update_window_dims (%s).",
                    firstUpdates,
                    indices,
                    dims.updateWindowDims());
        }
        for (int i = 1; i < n; i++) {
            ArrayShape array = Check.array(this, operands, i);
            ArrayShape updates = Check.array(this, operands, n + 1 + i);
            Check.that(
                    array.withDType(first.dtype()).equals(first)
                            && updates.withDType(firstUpdates.dtype()).equals(firstUpdates),
                    "The operands (%s with %s) of scatter must have the dims of the first (%s with %s).",
                    array,
                    updates,
                    first,
                    firstUpdates);
        }
        return n == 1 ? first : new TupleShape(operands.subList(0, n));
    }

    /** Window sizes by operand dim. */
    List<Long> windowSizes(ArrayShape array, ArrayShape updates) {
        List<Long> sizes = new ArrayList<>(Collections.nCopies(array.rank(), 1L));
        List<Integer> windowDims = dims.asGather().windowDims(array.rank());
        for (int i = 0; i < windowDims.size(); i++) {
            sizes.set(windowDims.get(i), updates.dim(dims.updateWindowDims().get(i)));
        }
        return sizes;
    }

    /**
     * Window dims that are whole are shared by array and updates; batching dims by all three. An indexed dim of window size 1 is free: a
     * part takes the updates for its block, the others fall outside. Index dims are a reduction if the combiner is a {@link
     * Reduction} (only part 0 then holds the array), else whole, as the order matters.
     */
    @Override
    public FactorRule factors(List<Shape> operands, Shape result) {
        int n = operands.size() / 2;
        ArrayShape array = operands.get(0).asArray();
        ArrayShape updates = operands.get(n + 1).asArray();
        FactorRule.Builder rule = new FactorRule.Builder();
        Reduction reduction = n == 1 ? reduction() : null;
        IndexedFactors factors = new IndexedFactors(
                rule,
                dims.asGather(),
                array,
                operands.get(n).asArray(),
                updates,
                windowSizes(array, updates),
                null,
                Factor.Kind.WHOLE,
                reduction);
        for (int i = 0; i < n; i++) {
            rule.operand(factors.array());
            rule.result(factors.array());
        }
        rule.operand(factors.indices());
        for (int i = 0; i < n; i++) {
            rule.operand(factors.windows());
        }
        return rule.build();
    }

    @Override
    public List<Set<Integer>> linearGroups() {
        return reduction() == Reduction.SUM ? List.of(Set.of(0, 2)) : List.of();
    }

    @Override
    public long flops(List<Shape> operands, Shape result) {
        int n = operands.size() / 2;
        return operands.get(n + 1).asArray().elements() * n;
    }

    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        int n = operands.size() / 2;
        List<Literal> results = new ArrayList<>();
        List<Literal> updates = new ArrayList<>();
        for (int i = 0; i < n; i++) {
            results.add(Folds.copy(operands.get(i).literal()));
            updates.add(operands.get(n + 1 + i).literal());
        }
        ArrayShape array = results.get(0).shape();
        GatherDims gather = dims.asGather();
        List<Integer> windowDims = gather.windowDims(array.rank());
        IndexedWalk walk = new IndexedWalk(
                gather, array, operands.get(n).literal(), updates.get(0).shape());
        Folds folds = new Folds(context, combiner);
        for (boolean more = walk.any(); more; more = walk.next()) {
            long[] start = walk.start();
            long to = walk.batchOffset();
            boolean inserted = true; // whether the dims that windows lack are inside
            for (int d = 0; d < array.rank(); d++) {
                to += start[d] * walk.arrayStride(d);
                inserted &= windowDims.contains(d) || (start[d] >= 0 && start[d] < array.dim(d));
            }
            if (!inserted) {
                continue;
            }
            Walk window = walk.window();
            for (boolean inside = window.any(); inside; inside = window.next()) {
                if (isInside(start, window, windowDims, array)) {
                    folds.fold(
                            results, (int) (to + window.offset(0)), updates, walk.windowsOffset() + window.offset(1));
                }
            }
        }
        folds.finish(results);
        return Folds.together(results);
    }

    private static boolean isInside(long[] start, Walk window, List<Integer> windowDims, ArrayShape array) {
        for (int i = 0; i < windowDims.size(); i++) {
            int d = windowDims.get(i);
            // Compared without a sum: a start near the end of the long range must not wrap.
            if (start[d] < -window.index(i) || start[d] >= array.dim(d) - window.index(i)) {
                return false;
            }
        }
        return true;
    }

    /**
     * Of an add: the array's cotangent is the result's; the updates' is read back at the indices, zero where updates were dropped. For that, the
     * cotangent is padded with zeros by the size of a window, so that each window outside reads zeros.
     */
    @Override
    public List<@Nullable Instruction> vjp(
            VjpContext context, Instruction self, List<@Nullable Instruction> cotangents) {
        if (cotangents.stream().allMatch(Objects::isNull)) {
            return Collections.nCopies(self.operands().size(), null);
        }
        Instruction dz = cotangents.get(0);
        if (self.operands().size() != 3 || reduction() != Reduction.SUM || dz == null) {
            throw new NoGradientException("The combiner (" + combiner.name() + ") of scatter (" + self.name()
                    + ") must be an add to one array to have a gradient.");
        }
        OpBuilder build = context.build();
        ArrayShape array = dz.array();
        List<Long> sizes = windowSizes(array, self.operand(2).array());
        long[] margins = new long[array.rank()];
        for (int d : dims.scatterDimsToOperandDims()) {
            margins[d] = sizes.get(d);
        }
        IndexVectors indices = new IndexVectors(build, dims.asGather(), self.operand(1));
        Instruction starts = indices.clamped(d -> -margins[d], array::dim);
        starts = indices.plus(starts, d -> margins[d]);
        Instruction padded = build.pad(dz, 0, margins, margins);
        return Arrays.asList(dz, null, build.builder().add(new Gather(dims.asGather(), sizes), padded, starts));
    }

    /**
     * Where an indexed dim is cut, indices count from the part's block: updates for others fall outside. Where index dims are cut, only
     * part 0 holds the array.
     */
    @Override
    public Instruction localize(Localizer local) {
        List<Instruction> operands = new ArrayList<>(local.operands());
        int n = operands.size() / 2;
        ArrayShape whole = local.whole().operand(0).array();
        ArrayShape part = operands.get(0).array();
        List<List<Integer>> arrayDims = local.rule().operands().get(0);
        List<Long> sizes = windowSizes(whole, local.whole().operand(n + 1).array());
        List<Integer> cut = new ArrayList<>();
        for (int d : dims.scatterDimsToOperandDims()) {
            if (sizes.get(d) < whole.dim(d) && part.dim(d) < whole.dim(d)) {
                cut.addAll(arrayDims.get(d));
            }
        }
        if (!cut.isEmpty()) {
            OpBuilder build = new OpBuilder(local.builder());
            IndexVectors indices = new IndexVectors(build, dims.asGather(), operands.get(n));
            operands.set(n, indices.relative(local, operands.get(n), arrayDims, cut, part));
        }
        List<Integer> sums = Parts.cut(local, local.rule().operands().get(n), Factor.Kind.REDUCTION);
        operands.set(0, Parts.once(local, sums, operands.get(0), reduction()));
        return local.builder().add(this, operands);
    }
}
