package dev.drover.ir.ops;

import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.Shape;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/**
 * The gradient of max pooling: for each window position of {@code operand}, {@code select} picks one element (the earlier one as long as
 * {@code select(earlier, later)} holds), and the source's element is folded by {@code scatter} into that place of the result,
 * which starts as the initial value. Operands: array {@code [A..]}, source {@code [S..]}, initial scalar; result {@code [A..]}.
 */
public record SelectAndScatter(Window window, Computation select, Computation scatter) implements Op {
    static final OpKind KIND = new OpKind(
            "select-and-scatter",
            source -> new SelectAndScatter(
                    ReduceWindow.windowOf(source, "window"),
                    source.computation("select"),
                    source.computation("scatter")));

    @Override
    public String opcode() {
        return "select-and-scatter";
    }

    @Override
    public List<Computation> calls() {
        return List.of(select, scatter);
    }

    @Override
    public Op withCalls(List<Computation> callees) {
        return new SelectAndScatter(window, callees.get(0), callees.get(1));
    }

    @Override
    public void print(OpWriter writer) {
        if (window.rank() > 0) {
            writer.attribute("window", window.toString());
        }
        writer.computation("select", select);
        writer.computation("scatter", scatter);
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        Check.count(this, operands, 3);
        ArrayShape array = Check.array(this, operands, 0);
        ArrayShape source = Check.array(this, operands, 1);
        ArrayShape init = Check.array(this, operands, 2);
        Check.that(
                array.rank() == window.rank() && source.rank() == window.rank(),
                "The window (%s) of select-and-scatter must have the rank of its operands (%s and %s).",
                window,
                array,
                source);
        for (int d = 0; d < window.rank(); d++) {
            Check.that(
                    window.dim(d).outputs(array.dim(d)) == source.dim(d),
                    "The source (%s) of select-and-scatter must have an element for each position of the window (%s) over %s.",
                    source,
                    window,
                    array);
        }
        Check.that(
                init.equals(ArrayShape.scalar(source.dtype())),
                "The initial value (%s) of select-and-scatter must be a scalar of the type of its source (%s).",
                init,
                source);
        return array.withDType(source.dtype());
    }

    @Override
    public FactorRule factors(List<Shape> operands, Shape result) {
        FactorRule.Builder rule = new FactorRule.Builder();
        List<List<Integer>> array = new ArrayList<>();
        List<List<Integer>> source = new ArrayList<>();
        boolean repeats = Reducers.of(scatter) == Reduction.SUM && ordersByComparison();
        ReduceWindow.windowDims(
                rule,
                window,
                operands.get(0).asArray(),
                operands.get(1).asArray(),
                array,
                source,
                repeats ? PickHalo::new : null);
        return rule.operand(array)
                .operand(source)
                .operand(List.of())
                .result(array)
                .build();
    }

    /** Whether {@code select} is one comparison of its parameters by size: then seeing an element twice changes nothing. */
    private boolean ordersByComparison() {
        Instruction root = select.root();
        return root.op() instanceof Compare compare
                && compare.direction() != Compare.Direction.EQ
                && compare.direction() != Compare.Direction.NE
                && root.operand(0).op() instanceof Parameter first
                && root.operand(1).op() instanceof Parameter second
                && first.number() == 0
                && second.number() == 1;
    }

    /**
     * Each part repeats the choices of all windows that meet its block, and keeps what falls into it. Outside the array a part at the
     * edge sees the edge's elements once more, so that the choice is the same; what falls there is added to the edge.
     *
     * <pre>
     *   extend the array and the source -> select-and-scatter without padding -> fold what fell outside -> the own block
     * </pre>
     */
    @Override
    public Instruction localize(Localizer local) {
        OpBuilder build = new OpBuilder(local.builder());
        Instruction array = local.operands().get(0);
        Instruction source = local.operands().get(1);
        Instruction initial = local.operands().get(2);
        List<Window.Dim> windows = new ArrayList<>();
        boolean exchanges = false;
        for (int d = 0; d < window.rank(); d++) {
            int factor = Halos.cut(local, local.rule().operands().get(0).get(d));
            if (factor >= 0 && local.rule().factors().get(factor).exchange() instanceof PickHalo picks) {
                exchanges = true;
                Halo halo = picks.ofArray(local.parts(factor));
                source = Halos.extended(local, factor, picks.ofSources(), source, d, null);
                array = withEdges(local, factor, halo, Halos.extended(local, factor, halo, array, d, null), array, d);
                windows.add(picks.local());
            } else {
                windows.add(window.dim(d));
            }
        }
        if (!exchanges) {
            return local.builder().add(this, local.operands());
        }
        Instruction zero = build.constant(Literals.zero(local.whole().array().dtype()));
        Instruction result =
                local.builder().add(new SelectAndScatter(new Window(windows), select, scatter), array, source, zero);
        for (int d = 0; d < window.rank(); d++) {
            int factor = Halos.cut(local, local.rule().operands().get(0).get(d));
            if (factor >= 0 && local.rule().factors().get(factor).exchange() instanceof PickHalo picks) {
                result = folded(local, factor, picks.ofArray(local.parts(factor)), result, d);
            }
        }
        return Parts.isConstant(initial, Literals.zero(initial.array().dtype()))
                ? result
                : build.add(result, build.broadcastTo(initial, result.array()));
    }

    /** Elements that a part needs before its block, or that the block has and it does not need (negative). */
    private static long low(Halo halo) {
        return -halo.first();
    }

    private static long high(Halo halo, long parts) {
        return halo.first() + halo.needed(parts) - halo.block(parts);
    }

    /** The extended array with the edge's elements repeated outside. */
    private static Instruction withEdges(
            Localizer local, int factor, Halo halo, Instruction extended, Instruction own, int dim) {
        OpBuilder build = new OpBuilder(local.builder());
        long low = low(halo);
        long high = high(halo, local.parts(factor));
        long size = extended.array().dim(dim);
        Instruction out = extended;
        if (low > 0) {
            Instruction edge = repeated(build, build.slice(own, dim, 0, 1), dim, low);
            Instruction before = build.slice(out, dim, 0, low);
            out = build.concat(
                    dim, Halos.whereInside(local, factor, -1, before, edge), build.slice(out, dim, low, size));
        }
        if (high > 0) {
            long last = own.array().dim(dim);
            Instruction edge = repeated(build, build.slice(own, dim, last - 1, last), dim, high);
            Instruction after = build.slice(out, dim, size - high, size);
            out = build.concat(
                    dim, build.slice(out, dim, 0, size - high), Halos.whereInside(local, factor, 1, after, edge));
        }
        return out;
    }

    private static Instruction repeated(OpBuilder build, Instruction row, int dim, long times) {
        return times == 1 ? row : build.concat(dim, java.util.Collections.nCopies(Math.toIntExact(times), row));
    }

    /** The own block of the extended result; what fell outside at the edges is added to the edge's elements. */
    private static Instruction folded(Localizer local, int factor, Halo halo, Instruction extended, int dim) {
        OpBuilder build = new OpBuilder(local.builder());
        long low = low(halo);
        long high = high(halo, local.parts(factor));
        long size = extended.array().dim(dim);
        long block = halo.block(local.parts(factor));
        long[] none = new long[extended.array().rank()];
        long[] cutLow = none.clone();
        long[] cutHigh = none.clone();
        cutLow[dim] = -low;
        cutHigh[dim] = -high;
        Instruction own = low == 0 && high == 0 ? extended : build.pad(extended, 0, cutLow, cutHigh);
        if (low > 0) {
            long[] after = none.clone();
            after[dim] = block - 1;
            own = build.add(own, outside(local, factor, -1, build.slice(extended, dim, 0, low), dim, none, after));
        }
        if (high > 0) {
            long[] before = none.clone();
            before[dim] = block - 1;
            Instruction fell = build.slice(extended, dim, size - high, size);
            own = build.add(own, outside(local, factor, 1, fell, dim, before, none));
        }
        return own;
    }

    /** What fell outside, summed along a dim and brought to the edge's place; zeros on parts that have a neighbour there. */
    private static Instruction outside(
            Localizer local, int factor, long distance, Instruction fell, int dim, long[] before, long[] after) {
        OpBuilder build = new OpBuilder(local.builder());
        Instruction sum =
                build.reshape(build.sum(fell, dim), fell.array().withDim(dim, 1).dims());
        Instruction zeros = build.zerosLike(sum);
        return build.pad(Halos.whereInside(local, factor, distance, zeros, sum), 0, before, after);
    }

    @Override
    public List<Set<Integer>> linearGroups() {
        return Reducers.of(scatter) == Reduction.SUM ? List.of(Set.of(1, 2)) : List.of();
    }

    @Override
    public long flops(List<Shape> operands, Shape result) {
        return operands.get(1).asArray().elements() * (window.elements() + 1);
    }

    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        Literal array = operands.get(0).literal();
        Literal source = operands.get(1).literal();
        Literal result = Folds.filled(self.array(), operands.get(2).literal());
        Folds folds = new Folds(context, scatter);
        WindowWalk walk = new WindowWalk(window, array.shape(), source.shape());
        int chosen = -1;
        boolean more = walk.any();
        while (more) {
            int output = walk.output();
            int input = walk.input();
            if (input >= 0 && (chosen < 0 || !keeps(context, array, chosen, input))) {
                chosen = input;
            }
            more = walk.next();
            if (!more || walk.atFirstTap()) {
                if (chosen >= 0) {
                    folds.fold(List.of(result), chosen, List.of(source), output);
                }
                chosen = -1;
            }
        }
        folds.finish(List.of(result));
        return result;
    }

    private boolean keeps(EvalContext context, Literal array, int earlier, int later) {
        List<Value> arguments = List.of(Folds.scalar(array, earlier), Folds.scalar(array, later));
        return context.call(select, arguments).literal().asLong(0) != 0;
    }
}
