package dev.drover.ir.ops;

import dev.drover.ir.type.ArrayShape;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntFunction;
import java.util.function.IntPredicate;

/** Rules of ops that move indexes along some dims (slice, pad, concatenate, ..) and leave the others alone. */
final class ShiftFactors {
    private ShiftFactors() {}

    /**
     * One free factor for each untouched dim, shared by all arrays (which have the same rank); in the others each array has a
     * factor of its own that shifts.
     */
    static FactorRule rule(List<ArrayShape> operands, ArrayShape result, IntPredicate untouched) {
        return build(operands, result, untouched).build();
    }

    /**
     * As {@link #rule} for one array, where devices can exchange what they need along the other dims: these are one factor where both
     * arrays have more than one element.
     *
     * @param exchange by dim
     */
    static FactorRule.Builder exchanging(
            ArrayShape operand, ArrayShape result, IntPredicate untouched, IntFunction<Exchange> exchange) {
        FactorRule.Builder rule = new FactorRule.Builder();
        List<List<Integer>> from = new ArrayList<>();
        List<List<Integer>> to = new ArrayList<>();
        for (int d = 0; d < result.rank(); d++) {
            long size = result.dim(d);
            if (operand.dim(d) == 1 || size == 1) {
                from.add(alone(rule, operand.dim(d)));
                to.add(alone(rule, size));
                continue;
            }
            List<Integer> factor = List.of(
                    untouched.test(d)
                            ? rule.free(size)
                            : rule.exchanging(size, Factor.Kind.SHIFT, null, exchange.apply(d)));
            from.add(factor);
            to.add(factor);
        }
        return rule.operand(from).result(to);
    }

    private static List<Integer> alone(FactorRule.Builder rule, long size) {
        return size == 1 ? List.of() : List.of(rule.factor(size, Factor.Kind.SHIFT));
    }

    /** As {@link #rule}, for ops that have further operands. */
    static FactorRule.Builder build(List<ArrayShape> operands, ArrayShape result, IntPredicate untouched) {
        FactorRule.Builder rule = new FactorRule.Builder();
        List<List<Integer>> shared = new ArrayList<>();
        for (int d = 0; d < result.rank(); d++) {
            boolean free = untouched.test(d) && result.dim(d) != 1;
            shared.add(free ? List.of(rule.free(result.dim(d))) : List.of());
        }
        for (ArrayShape operand : operands) {
            rule.operand(dims(rule, operand, shared, untouched));
        }
        return rule.result(dims(rule, result, shared, untouched));
    }

    private static List<List<Integer>> dims(
            FactorRule.Builder rule, ArrayShape shape, List<List<Integer>> shared, IntPredicate untouched) {
        List<List<Integer>> dims = new ArrayList<>();
        for (int d = 0; d < shape.rank(); d++) {
            boolean alone = !untouched.test(d) && shape.dim(d) != 1;
            dims.add(alone ? List.of(rule.factor(shape.dim(d), Factor.Kind.SHIFT)) : shared.get(d));
        }
        return dims;
    }
}
