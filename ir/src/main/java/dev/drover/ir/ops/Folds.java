package dev.drover.ir.ops;

import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Rounding;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Folds elements into accumulators by a computation: directly where it is a {@link Reduction} (floats in double, rounded once at
 * the end), else by evaluating it.
 */
final class Folds {
    private final EvalContext context;
    private final Computation computation;
    private final @Nullable Reduction reduction;

    Folds(EvalContext context, Computation computation) {
        this.context = context;
        this.computation = computation;
        this.reduction = Reducers.of(computation);
    }

    /** An array of one value. */
    static Literal filled(ArrayShape shape, Literal scalar) {
        Literal out = Literal.zeros(shape);
        if (shape.dtype().isComplex()) {
            for (int i = 0; i < out.size(); i++) {
                out.copyElement(scalar, 0, i);
            }
        } else if (shape.dtype().isFloat()) {
            Arrays.fill(out.doubles(), scalar.asDouble(0));
        } else {
            Arrays.fill(out.longs(), scalar.asLong(0));
        }
        return out;
    }

    /** A copy that may be written to. */
    static Literal copy(Literal literal) {
        ArrayShape shape = literal.shape();
        if (shape.dtype().isFloat() || shape.dtype().isComplex()) {
            return Literal.ofDoubles(shape, literal.doubles().clone());
        }
        return Literal.ofLongs(shape, literal.longs().clone());
    }

    /** Folds all elements of a walk: offset 0 into the elements, offset 1 into the accumulators; then rounds. */
    void run(List<Literal> accumulators, List<Literal> elements, Walk walk) {
        if (isDirect(accumulators) && accumulators.get(0).dtype().isFloat()) {
            double[] to = accumulators.get(0).doubles();
            double[] from = elements.get(0).doubles();
            if (reduction == Reduction.SUM) {
                for (boolean more = walk.any(); more; more = walk.next()) {
                    to[walk.offset(1)] += from[walk.offset(0)];
                }
            } else if (reduction != null) {
                for (boolean more = walk.any(); more; more = walk.next()) {
                    int at = walk.offset(1);
                    to[at] = Reducers.combine(reduction, to[at], from[walk.offset(0)]);
                }
            }
        } else {
            for (boolean more = walk.any(); more; more = walk.next()) {
                fold(accumulators, walk.offset(1), elements, walk.offset(0));
            }
        }
        finish(accumulators);
    }

    private boolean isDirect(List<Literal> accumulators) {
        return reduction != null
                && accumulators.size() == 1
                && !accumulators.get(0).dtype().isComplex();
    }

    /** Folds one element into one accumulator; floats are left unrounded until {@link #finish}. */
    void fold(List<Literal> accumulators, int to, List<Literal> elements, int from) {
        if (isDirect(accumulators) && reduction != null) {
            Literal accumulator = accumulators.get(0);
            DType dtype = accumulator.dtype();
            if (dtype.isFloat()) {
                double[] values = accumulator.doubles();
                values[to] =
                        Reducers.combine(reduction, values[to], elements.get(0).asDouble(from));
            } else {
                long[] values = accumulator.longs();
                values[to] = Rounding.wrap(
                        dtype,
                        Reducers.combine(
                                reduction, dtype, values[to], elements.get(0).asLong(from)));
            }
            return;
        }
        List<Value> arguments = new ArrayList<>(2 * accumulators.size());
        for (Literal accumulator : accumulators) {
            arguments.add(scalar(accumulator, to));
        }
        for (Literal element : elements) {
            arguments.add(scalar(element, from));
        }
        Value result = context.call(computation, arguments);
        if (result instanceof Value.Tuple tuple) {
            for (int i = 0; i < accumulators.size(); i++) {
                accumulators.get(i).copyElement(tuple.elements().get(i).literal(), 0, to);
            }
        } else {
            accumulators.get(0).copyElement(result.literal(), 0, to);
        }
    }

    /** Rounds what was folded. */
    void finish(List<Literal> accumulators) {
        Literal first = accumulators.get(0);
        if (isDirect(accumulators) && first.dtype().isFloat()) {
            Rounding.round(first.dtype(), first.doubles());
        }
    }

    /** One array as it is, several as a tuple. */
    static Value together(List<? extends Value> values) {
        return values.size() == 1 ? values.get(0) : new Value.Tuple(List.copyOf(values));
    }

    /** One element as a scalar. */
    static Literal scalar(Literal literal, int index) {
        Literal out = Literal.zeros(ArrayShape.scalar(literal.dtype()));
        out.copyElement(literal, index, 0);
        return out;
    }
}
