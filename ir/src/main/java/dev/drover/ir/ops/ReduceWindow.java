package dev.drover.ir.ops;

import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.ComputationBuilder;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.ir.type.Shape;
import dev.drover.ir.type.TupleShape;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Folds the elements under a moving window; operands as in {@link Reduce}. Padding and the holes of a base dilation are not folded
 * (they would count as the initial value).
 */
public record ReduceWindow(Window window, Computation reducer) implements Op {
    static final OpKind KIND = new OpKind(
            "reduce-window", source -> new ReduceWindow(windowOf(source, "window"), source.computation("to_apply")));

    /** The window of an instruction; an absent one moves over nothing, and is trivial in each dim. */
    static Window windowOf(OpSource source, String name) {
        String text = source.text(name);
        if (text != null) {
            return Window.parse(text);
        }
        List<Window.Dim> dims = new ArrayList<>();
        for (int i = 0; i < source.operands().get(0).asArray().rank(); i++) {
            dims.add(Window.Dim.single());
        }
        return new Window(dims);
    }

    @Override
    public String opcode() {
        return "reduce-window";
    }

    @Override
    public List<Computation> calls() {
        return List.of(reducer);
    }

    @Override
    public Op withCalls(List<Computation> callees) {
        return new ReduceWindow(window, callees.get(0));
    }

    @Override
    public void print(OpWriter writer) {
        if (window.rank() > 0) {
            writer.attribute("window", window.toString());
        }
        writer.computation("to_apply", reducer);
    }

    /** The reduction that this is, or null for other reducers. */
    public @Nullable Reduction reduction() {
        return Reducers.of(reducer);
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        int n = Check.halves(this, operands);
        ArrayShape first = Check.array(this, operands, 0);
        Check.that(
                first.rank() == window.rank(),
                "The window (%s) of reduce-window must have the rank of its operand (%s).",
                window,
                first);
        List<Shape> results = new ArrayList<>();
        for (int i = 0; i < n; i++) {
            ArrayShape array = Check.array(this, operands, i);
            ArrayShape init = Check.array(this, operands, n + i);
            Check.that(
                    array.withDType(first.dtype()).equals(first),
                    "The operands (%s and %s) of reduce-window must have the same dims.",
                    first,
                    array);
            Check.that(init.rank() == 0, "The initial value (%s) of reduce-window must be a scalar.", init);
            long[] dims = array.dims();
            for (int d = 0; d < dims.length; d++) {
                dims[d] = window.dim(d).outputs(dims[d]);
            }
            results.add(ArrayShape.of(init.dtype(), dims));
        }
        return n == 1 ? results.get(0) : new TupleShape(results);
    }

    /**
     * Dims that the window leaves alone are free, the others need halos; these can be exchanged where padding may be folded, being
     * neutral.
     */
    @Override
    public FactorRule factors(List<Shape> operands, Shape result) {
        int n = operands.size() / 2;
        ArrayShape in = operands.get(0).asArray();
        ArrayShape out = result.leaves().get(0);
        FactorRule.Builder rule = new FactorRule.Builder();
        List<List<Integer>> inDims = new ArrayList<>();
        List<List<Integer>> outDims = new ArrayList<>();
        boolean foldsPadding =
                n == 1 && reduction() != null && operands.get(1).asArray().dtype() == in.dtype();
        windowDims(rule, window, in, out, inDims, outDims, foldsPadding ? Halo::ofOutputs : null);
        for (int i = 0; i < n; i++) {
            rule.operand(inDims);
            rule.result(outDims);
        }
        for (int i = 0; i < n; i++) {
            rule.operand(List.of());
        }
        return rule.build();
    }

    /** How a window over this many inputs, making this many outputs, exchanges. */
    @FunctionalInterface
    interface ExchangeOfWindow {
        Exchange of(Window.Dim window, long inputs, long outputs);
    }

    /** Factors for the dims of an array and of what a window makes of it, with the exchange of those that have one. */
    static void windowDims(
            FactorRule.Builder rule,
            Window window,
            ArrayShape in,
            ArrayShape out,
            List<List<Integer>> inDims,
            List<List<Integer>> outDims,
            @Nullable ExchangeOfWindow exchange) {
        for (int d = 0; d < in.rank(); d++) {
            if (window.dim(d).isTrivial()) {
                List<Integer> factor = in.dim(d) == 1 ? List.of() : List.of(rule.free(in.dim(d)));
                inDims.add(factor);
                outDims.add(factor);
            } else if (exchange != null && in.dim(d) > 1 && out.dim(d) > 1) {
                Exchange moves = exchange.of(window.dim(d), in.dim(d), out.dim(d));
                List<Integer> factor = List.of(rule.exchanging(out.dim(d), Factor.Kind.WINDOW, null, moves));
                inDims.add(factor);
                outDims.add(factor);
            } else {
                inDims.add(in.dim(d) == 1 ? List.of() : List.of(rule.factor(in.dim(d), Factor.Kind.WINDOW)));
                outDims.add(out.dim(d) == 1 ? List.of() : List.of(rule.factor(out.dim(d), Factor.Kind.WINDOW)));
            }
        }
    }

    /** What lies outside counts nothing. */
    @Override
    public Instruction localize(Localizer local) {
        List<Instruction> operands = new ArrayList<>(local.operands());
        List<Window.Dim> windows = new ArrayList<>();
        OpBuilder build = new OpBuilder(local.builder());
        for (int d = 0; d < window.rank(); d++) {
            int factor = Halos.cut(local, local.rule().operands().get(0).get(d));
            Reduction reduction = reduction();
            if (factor < 0 || reduction == null) {
                windows.add(window.dim(d));
                continue;
            }
            Halo halo = Halos.of(local, factor);
            Instruction array = operands.get(0);
            Instruction neutral = halo.leaves(local.parts(factor))
                    ? build.constant(Reducers.neutral(reduction, array.array().dtype()))
                    : null;
            operands.set(0, Halos.extended(local, factor, halo, array, d, neutral));
            windows.add(halo.window(window.dim(d), local.parts(factor)));
        }
        return local.builder().add(new ReduceWindow(new Window(windows), reducer), operands);
    }

    @Override
    public List<Set<Integer>> linearGroups() {
        return reduction() == Reduction.SUM ? List.of(Set.of(0, 1)) : List.of();
    }

    @Override
    public long flops(List<Shape> operands, Shape result) {
        long taps = 1;
        ArrayShape in = operands.get(0).asArray();
        for (int d = 0; d < window.rank(); d++) {
            taps *= window.dim(d).realTaps(in.dim(d));
        }
        return taps * (operands.size() / 2);
    }

    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        int n = operands.size() / 2;
        List<ArrayShape> shapes = self.shape().leaves();
        List<Literal> results = new ArrayList<>();
        for (int i = 0; i < n; i++) {
            results.add(Folds.filled(shapes.get(i), operands.get(n + i).literal()));
        }
        List<Literal> arrays =
                operands.subList(0, n).stream().map(Value::literal).toList();
        Folds folds = new Folds(context, reducer);
        ArrayShape in = arrays.get(0).shape();
        ArrayShape out = shapes.get(0);
        WindowWalk walk = new WindowWalk(window, in, out);
        for (boolean more = walk.any(); more; more = walk.next()) {
            if (walk.input() >= 0) {
                folds.fold(results, walk.output(), arrays, walk.input());
            }
        }
        folds.finish(results);
        return Folds.together(results);
    }

    /** Sum: a window sum of the cotangent, strides and base dilations swapped. Maximum and minimum: {@link SelectAndScatter}. */
    @Override
    public List<@Nullable Instruction> vjp(
            VjpContext context, Instruction self, List<@Nullable Instruction> cotangents) {
        if (cotangents.stream().allMatch(Objects::isNull)) {
            return Collections.nCopies(self.operands().size(), null);
        }
        Instruction dz = cotangents.get(0);
        Reduction reduction = self.operands().size() == 2 ? reduction() : null;
        boolean constant = self.operand(1).op() instanceof Constant;
        OpBuilder build = context.build();
        if (dz != null && reduction == Reduction.SUM && constant) {
            DType dtype = dz.array().dtype();
            ReduceWindow gradient = new ReduceWindow(transposed(self.operand(0).array(), dz.array()), reducer);
            return Arrays.asList(build.builder().add(gradient, dz, build.constant(dtype, 0)), null);
        }
        boolean plain = window.dims().stream().allMatch(d -> d.baseDilation() == 1 && d.windowDilation() == 1);
        if (dz == null || !plain || !constant || (reduction != Reduction.MAX && reduction != Reduction.MIN)) {
            throw new NoGradientException("The reducer (" + reducer.name() + ") of reduce-window (" + self.name()
                    + ") must be an add, or without dilations a minimum or maximum, of one operand and a constant initial value"
                    + " to have a gradient.");
        }
        DType dtype = dz.array().dtype();
        Compare.Direction keep = reduction == Reduction.MAX ? Compare.Direction.GE : Compare.Direction.LE;
        SelectAndScatter gradient =
                new SelectAndScatter(window, comparison(keep, dtype), Reducers.computation(Reduction.SUM, dtype));
        return Arrays.asList(build.builder().add(gradient, self.operand(0), dz, build.constant(dtype, 0)), null);
    }

    private static Computation comparison(Compare.Direction direction, DType dtype) {
        ComputationBuilder builder =
                new ComputationBuilder(direction.name().toLowerCase(Locale.ROOT) + "_" + dtype.hloName());
        Instruction x = builder.parameter("x", ArrayShape.scalar(dtype));
        Instruction y = builder.parameter("y", ArrayShape.scalar(dtype));
        return builder.build(builder.add(new Compare(direction), x, y));
    }

    /** The window over the outputs by which the inputs read them. */
    private Window transposed(ArrayShape in, ArrayShape out) {
        List<Window.Dim> dims = new ArrayList<>();
        for (int d = 0; d < window.rank(); d++) {
            dims.add(window.dim(d).transposed(in.dim(d), out.dim(d)));
        }
        return new Window(dims);
    }
}
