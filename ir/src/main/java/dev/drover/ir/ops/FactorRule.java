package dev.drover.ir.ops;

import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.Shape;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * An op's sharding rule: which factors make up each dim of each operand and result leaf, major first. Printed as in einsum,
 * {@code (b m k, b k n) -> b m n}; a dim of several factors as {@code (a b)}, of alternatives as {@code a|b}, of none (size 1) as
 * {@code 1}.
 *
 * @param factors the op's factors; lists below hold positions in this list
 * @param operands by operand leaf, by dim: factors, major first; their sizes multiply to the dim's, but for factors that span it:
 *     then the dim has no others, and several are alternatives
 * @param results likewise for the result's leaves
 */
public record FactorRule(List<Factor> factors, List<List<List<Integer>>> operands, List<List<List<Integer>>> results) {

    public FactorRule {
        factors = List.copyOf(factors);
        operands = List.copyOf(operands);
        results = List.copyOf(results);
    }

    /** The rule of an op of which nothing can be cut. */
    public static FactorRule whole(List<Shape> operands, Shape result) {
        Builder builder = new Builder();
        for (Shape operand : operands) {
            for (ArrayShape leaf : operand.leaves()) {
                builder.operand(builder.wholeDims(leaf));
            }
        }
        for (ArrayShape leaf : result.leaves()) {
            builder.result(builder.wholeDims(leaf));
        }
        return builder.build();
    }

    /** The rule of an op that works on the arrays of a batch one by one: all leaves begin with its dims, and the others are never cut. */
    public static FactorRule batched(List<Shape> operands, Shape result, int batch) {
        Builder builder = new Builder();
        List<List<Integer>> front = new ArrayList<>();
        List<List<List<Integer>>> in = new ArrayList<>();
        for (Shape operand : operands) {
            for (ArrayShape leaf : operand.leaves()) {
                in.add(builder.behind(front, leaf, batch));
            }
        }
        in.forEach(builder::operand);
        for (ArrayShape leaf : result.leaves()) {
            builder.result(builder.behind(front, leaf, batch));
        }
        return builder.build();
    }

    /** Whether a factor occurs in a leaf. */
    public static boolean contains(List<List<Integer>> dims, int factor) {
        for (List<Integer> dim : dims) {
            if (dim.contains(factor)) {
                return true;
            }
        }
        return false;
    }

    @Override
    public String toString() {
        StringBuilder text = new StringBuilder("(");
        for (int i = 0; i < operands.size(); i++) {
            text.append(i == 0 ? "" : ", ").append(leafText(operands.get(i)));
        }
        text.append(") -> ");
        for (int i = 0; i < results.size(); i++) {
            text.append(i == 0 ? "" : ", ").append(leafText(results.get(i)));
        }
        for (Factor factor : factors) {
            if (factor.kind() != Factor.Kind.FREE) {
                text.append("; ")
                        .append(factor.name())
                        .append(' ')
                        .append(factor.kind().name().toLowerCase(java.util.Locale.ROOT));
                if (factor.reduction() != null) {
                    text.append(' ').append(factor.reduction().name().toLowerCase(java.util.Locale.ROOT));
                }
            }
        }
        return text.toString();
    }

    private String leafText(List<List<Integer>> dims) {
        List<String> parts = new ArrayList<>();
        for (List<Integer> dim : dims) {
            List<String> names = dim.stream().map(f -> factors.get(f).name()).toList();
            boolean alternatives = dim.stream().anyMatch(f -> factors.get(f).spansDims());
            parts.add(
                    names.isEmpty()
                            ? "1"
                            : alternatives || names.size() == 1
                                    ? String.join("|", names)
                                    : "(" + String.join(" ", names) + ")");
        }
        return parts.isEmpty() ? "." : String.join(" ", parts);
    }

    /** Collects factors and leaves. A dim of size 1 should have no factor. */
    public static final class Builder {
        private final List<Factor> factors = new ArrayList<>();
        private final List<List<List<Integer>>> operands = new ArrayList<>();
        private final List<List<List<Integer>>> results = new ArrayList<>();

        /** A new factor of a kind other than a reduction, named {@code a, b, ..} by position. */
        public int factor(long size, Factor.Kind kind) {
            factors.add(new Factor(nextName(), size, kind, null, null, false));
            return factors.size() - 1;
        }

        /** A new free factor. */
        public int free(long size) {
            return factor(size, Factor.Kind.FREE);
        }

        public int reduction(long size, Reduction reduction) {
            factors.add(new Factor(nextName(), size, Factor.Kind.REDUCTION, reduction, null, false));
            return factors.size() - 1;
        }

        /** A new window or shift factor of which devices can exchange what they need. */
        public int exchanging(long size, Factor.Kind kind, @Nullable Reduction reduction, Exchange exchange) {
            factors.add(new Factor(nextName(), size, kind, reduction, exchange, false));
            return factors.size() - 1;
        }

        /** A new free factor along which zeros may be appended. */
        public int freePadded(long size) {
            factors.add(new Factor(nextName(), size, Factor.Kind.FREE, null, null, true));
            return factors.size() - 1;
        }

        /** A new factor of sums of products: zeros may be appended along it. */
        public int sumPadded(long size) {
            factors.add(new Factor(nextName(), size, Factor.Kind.REDUCTION, Reduction.SUM, null, true));
            return factors.size() - 1;
        }

        private String nextName() {
            int n = factors.size();
            return n < 26 ? String.valueOf((char) ('a' + n)) : "f" + n;
        }

        /** One new factor for each dim of more than one element. */
        public List<List<Integer>> dims(ArrayShape shape, Factor.Kind kind) {
            List<List<Integer>> dims = new ArrayList<>();
            for (int i = 0; i < shape.rank(); i++) {
                dims.add(shape.dim(i) == 1 ? List.of() : List.of(factor(shape.dim(i), kind)));
            }
            return dims;
        }

        public List<List<Integer>> freeDims(ArrayShape shape) {
            return dims(shape, Factor.Kind.FREE);
        }

        public List<List<Integer>> wholeDims(ArrayShape shape) {
            return dims(shape, Factor.Kind.WHOLE);
        }

        /** Dims of which the first belong to a batch, whose factors are made for the first leaf. */
        private List<List<Integer>> behind(List<List<Integer>> front, ArrayShape leaf, int batch) {
            for (int d = front.size(); d < batch; d++) {
                front.add(leaf.dim(d) == 1 ? List.of() : List.of(free(leaf.dim(d))));
            }
            List<List<Integer>> dims = new ArrayList<>(front);
            for (int d = batch; d < leaf.rank(); d++) {
                dims.add(leaf.dim(d) == 1 ? List.of() : List.of(factor(leaf.dim(d), Factor.Kind.WHOLE)));
            }
            return dims;
        }

        /** Appends an operand leaf. */
        public Builder operand(List<List<Integer>> dims) {
            operands.add(dims.stream().map(List::copyOf).toList());
            return this;
        }

        /** Appends a result leaf. */
        public Builder result(List<List<Integer>> dims) {
            results.add(dims.stream().map(List::copyOf).toList());
            return this;
        }

        public FactorRule build() {
            return new FactorRule(factors, operands, results);
        }
    }
}
