package dev.drover.ir.ops;

import dev.drover.ir.type.ArrayShape;
import java.util.ArrayList;
import java.util.List;

/**
 * The factors that two row-major views of the same elements share.
 *
 * <p>A dim of size D and stride S (in elements) holds the digits of the linear index between S and S*D. A digit (a factor)
 * belongs to a dim of both sides if it lies between S and S*D of both, where "between" means divisibility:
 *
 * <pre>
 *   bottom = lcm(S, S'),  top = gcd(S*D, S'*D'),  factor = top / bottom   if bottom divides top
 *
 *   [6,4] -> [8,3]:  dim 0: 4 | .. | 24 and dim 0: 3 | .. | 24  ->  bottom 12, top 24, factor 2
 *   rule: ((a b) c) -> (a d) e; b, c, d, e whole
 * </pre>
 *
 * What remains of a dim is whole.
 */
final class ReshapeFactors {
    private ReshapeFactors() {}

    /** A factor and the part of the linear index that it is: digits from {@code bottom} to {@code top}. */
    private record Digit(int factor, long bottom, long top) {}

    static FactorRule rule(ArrayShape operand, ArrayShape result) {
        if (operand.elements() == 0) {
            return FactorRule.whole(List.of(operand), result);
        }
        FactorRule.Builder rule = new FactorRule.Builder();
        List<List<Digit>> operandDigits = empty(operand.rank());
        List<List<Digit>> resultDigits = empty(result.rank());
        long[] operandStrides = operand.strides();
        long[] resultStrides = result.strides();
        for (int i = 0; i < operand.rank(); i++) {
            for (int j = 0; j < result.rank(); j++) {
                long gcd = gcd(operandStrides[i], resultStrides[j]);
                long bottom = operandStrides[i] / gcd * resultStrides[j];
                long top = gcd(operandStrides[i] * operand.dim(i), resultStrides[j] * result.dim(j));
                if (top > bottom && top % bottom == 0) {
                    Digit digit = new Digit(rule.free(top / bottom), bottom, top);
                    operandDigits.get(i).add(digit);
                    resultDigits.get(j).add(digit);
                }
            }
        }
        rule.operand(fill(rule, operand, operandDigits));
        rule.result(fill(rule, result, resultDigits));
        return rule.build();
    }

    private static List<List<Digit>> empty(int rank) {
        List<List<Digit>> lists = new ArrayList<>();
        for (int d = 0; d < rank; d++) {
            lists.add(new ArrayList<>());
        }
        return lists;
    }

    /** The factors of each dim, major first, with whole ones where none is shared. */
    private static List<List<Integer>> fill(FactorRule.Builder rule, ArrayShape shape, List<List<Digit>> digits) {
        List<List<Integer>> dims = new ArrayList<>();
        long[] strides = shape.strides();
        for (int d = 0; d < shape.rank(); d++) {
            List<Integer> factors = new ArrayList<>();
            long at = strides[d] * shape.dim(d);
            for (Digit digit : digits.get(d)) {
                if (at > digit.top()) {
                    factors.add(rule.factor(at / digit.top(), Factor.Kind.WHOLE));
                }
                factors.add(digit.factor());
                at = digit.bottom();
            }
            if (at > strides[d]) {
                factors.add(rule.factor(at / strides[d], Factor.Kind.WHOLE));
            }
            dims.add(factors);
        }
        return dims;
    }

    private static long gcd(long a, long b) {
        return b == 0 ? a : gcd(b, a % b);
    }
}
