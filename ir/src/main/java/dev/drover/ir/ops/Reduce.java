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
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Folds dims with a computation. Operands are n arrays of the same dims, then n initial scalars; the computation takes n
 * accumulators, then n elements. The result is an array for n = 1, else a tuple.
 */
public record Reduce(List<Integer> dimensions, Computation reducer) implements Op {
    static final OpKind KIND =
            new OpKind("reduce", source -> new Reduce(source.ints("dimensions"), source.computation("to_apply")));

    public Reduce {
        dimensions = List.copyOf(dimensions);
    }

    @Override
    public String opcode() {
        return "reduce";
    }

    @Override
    public List<Computation> calls() {
        return List.of(reducer);
    }

    @Override
    public Op withCalls(List<Computation> callees) {
        return new Reduce(dimensions, callees.get(0));
    }

    @Override
    public void print(OpWriter writer) {
        writer.numbers("dimensions", dimensions);
        writer.computation("to_apply", reducer);
    }

    /** The reduction that this is, or null for other reducers and for several operands. */
    public @Nullable Reduction reduction() {
        return Reducers.of(reducer);
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        int n = Check.halves(this, operands);
        ArrayShape first = Check.array(this, operands, 0);
        Check.dims(this, "dimensions", dimensions, first.rank());
        List<Shape> results = new ArrayList<>();
        for (int i = 0; i < n; i++) {
            ArrayShape array = Check.array(this, operands, i);
            ArrayShape init = Check.array(this, operands, n + i);
            Check.that(
                    array.withDType(first.dtype()).equals(first),
                    "The operands (%s and %s) of reduce must have the same dims.",
                    first,
                    array);
            Check.that(init.rank() == 0, "The initial value (%s) of reduce must be a scalar.", init);
            results.add(ArrayShape.of(init.dtype(), Walk.pick(array.dims(), kept(array.rank()))));
        }
        return n == 1 ? results.get(0) : new TupleShape(results);
    }

    /** Dims that stay, in order. */
    public List<Integer> kept(int rank) {
        List<Integer> out = new ArrayList<>();
        for (int d = 0; d < rank; d++) {
            if (!dimensions.contains(d)) {
                out.add(d);
            }
        }
        return out;
    }

    /**
     * {@code (a b, .) -> a} with b a reduction if the reducer is a {@link Reduction}, else whole. Where b is cut, only part 0 uses the
     * initial value.
     */
    @Override
    public FactorRule factors(List<Shape> operands, Shape result) {
        int n = operands.size() / 2;
        ArrayShape first = operands.get(0).asArray();
        Reduction reduction = n == 1 ? reduction() : null;
        FactorRule.Builder rule = new FactorRule.Builder();
        List<List<Integer>> in = new ArrayList<>();
        List<List<Integer>> out = new ArrayList<>();
        for (int d = 0; d < first.rank(); d++) {
            boolean reduced = dimensions.contains(d);
            long size = first.dim(d);
            List<Integer> factor;
            if (size == 1) {
                factor = List.of();
            } else if (!reduced) {
                factor = List.of(rule.free(size));
            } else if (reduction != null) {
                factor = List.of(rule.reduction(size, reduction));
            } else {
                factor = List.of(rule.factor(size, Factor.Kind.WHOLE));
            }
            in.add(factor);
            if (!reduced) {
                out.add(factor);
            }
        }
        for (int i = 0; i < n; i++) {
            rule.operand(in);
            rule.result(out);
        }
        for (int i = 0; i < n; i++) {
            rule.operand(List.of());
        }
        return rule.build();
    }

    /** A sum is linear in the array and the initial value together. */
    @Override
    public List<Set<Integer>> linearGroups() {
        return reduction() == Reduction.SUM ? List.of(Set.of(0, 1)) : List.of();
    }

    @Override
    public long flops(List<Shape> operands, Shape result) {
        return operands.get(0).asArray().elements() * (operands.size() / 2);
    }

    /** A recognised reducer accumulates in double and rounds once at the end: at least as exact as XLA. */
    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        int n = operands.size() / 2;
        List<Literal> results = new ArrayList<>();
        List<ArrayShape> shapes = self.shape().leaves();
        for (int i = 0; i < n; i++) {
            results.add(Folds.filled(shapes.get(i), operands.get(n + i).literal()));
        }
        ArrayShape in = operands.get(0).literal().shape();
        long[] outStrides = new long[in.rank()];
        long[] resultStrides = shapes.get(0).strides();
        int at = 0;
        for (int d : kept(in.rank())) {
            outStrides[d] = resultStrides[at++];
        }
        List<Literal> arrays =
                operands.subList(0, n).stream().map(Value::literal).toList();
        Folds folds = new Folds(context, reducer);
        Walk walk = new Walk(in.dims(), in.strides(), outStrides);
        folds.run(results, arrays, walk);
        return Folds.together(results);
    }

    /**
     * Sum: the cotangent along the reduced dims. Maximum and minimum: shared equally among the elements that are equal to the result, as
     * in JAX. The initial value of a sum gets the sum of the cotangent; others must be constants.
     */
    @Override
    public List<@Nullable Instruction> vjp(
            VjpContext context, Instruction self, List<@Nullable Instruction> cotangents) {
        if (cotangents.stream().allMatch(java.util.Objects::isNull)) {
            return Collections.nCopies(self.operands().size(), null);
        }
        Instruction dz = cotangents.get(0);
        Reduction reduction = self.operands().size() == 2 ? reduction() : null;
        if (reduction == null || dz == null) {
            throw new NoGradientException("The reducer (" + reducer.name() + ") of reduce (" + self.name()
                    + ") must be an add, a minimum or a maximum of one operand to have a gradient.");
        }
        OpBuilder build = context.build();
        Instruction x = self.operand(0);
        boolean constant = self.operand(1).op() instanceof Constant;
        if (reduction == Reduction.SUM) {
            Instruction dx = build.broadcastAlong(dz, x.array(), dimensions);
            return Arrays.asList(dx, constant ? null : build.sumAll(dz));
        }
        if (!constant || (reduction != Reduction.MAX && reduction != Reduction.MIN)) {
            throw new NoGradientException("The reduction (" + reduction + ") of reduce (" + self.name()
                    + ") must be a sum, or a minimum or maximum with a constant initial value, to have a gradient.");
        }
        Instruction chosen = build.convert(
                build.equal(x, build.broadcastAlong(self, x.array(), dimensions)),
                x.array().dtype());
        Instruction count = build.sum(chosen, dimensions);
        Instruction share = build.broadcastAlong(build.div(dz, count), x.array(), dimensions);
        return Arrays.asList(build.mul(chosen, share), null);
    }

    /** Of a cut sum or product, only part 0 counts the initial value. */
    @Override
    public Instruction localize(Localizer local) {
        List<Instruction> operands = new ArrayList<>(local.operands());
        List<List<Integer>> dims = local.rule().operands().get(0);
        List<Integer> cut = Parts.cut(local, dims, Factor.Kind.REDUCTION);
        int n = operands.size() / 2;
        for (int i = n; i < 2 * n; i++) {
            operands.set(i, Parts.once(local, cut, operands.get(i), reduction()));
        }
        return local.builder().add(this, operands);
    }
}
