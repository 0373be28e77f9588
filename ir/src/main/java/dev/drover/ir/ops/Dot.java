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
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Tensor contraction. The result's dims are the batch dims in the order of {@code lhsBatch}, then the other dims of the left operand in
 * order, then those of the right: {@code (b m k, b k n) -> b m n}.
 *
 * @param dtype the result's element type
 */
public record Dot(
        List<Integer> lhsBatch,
        List<Integer> rhsBatch,
        List<Integer> lhsContracting,
        List<Integer> rhsContracting,
        DType dtype)
        implements Op {
    static final OpKind KIND = new OpKind("dot", Dot::parse);

    public Dot {
        lhsBatch = List.copyOf(lhsBatch);
        rhsBatch = List.copyOf(rhsBatch);
        lhsContracting = List.copyOf(lhsContracting);
        rhsContracting = List.copyOf(rhsContracting);
    }

    /** Without batch dims. */
    public static Dot contracting(int lhs, int rhs, DType dtype) {
        return new Dot(List.of(), List.of(), List.of(lhs), List.of(rhs), dtype);
    }

    private static Op parse(OpSource source) {
        return new Dot(
                source.ints("lhs_batch_dims"),
                source.ints("rhs_batch_dims"),
                source.ints("lhs_contracting_dims"),
                source.ints("rhs_contracting_dims"),
                source.shape().asArray().dtype());
    }

    @Override
    public String opcode() {
        return "dot";
    }

    @Override
    public void print(OpWriter writer) {
        if (!lhsBatch.isEmpty()) {
            writer.numbers("lhs_batch_dims", lhsBatch);
        }
        writer.numbers("lhs_contracting_dims", lhsContracting);
        if (!rhsBatch.isEmpty()) {
            writer.numbers("rhs_batch_dims", rhsBatch);
        }
        writer.numbers("rhs_contracting_dims", rhsContracting);
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        Check.count(this, operands, 2);
        ArrayShape lhs = Check.array(this, operands, 0);
        ArrayShape rhs = Check.array(this, operands, 1);
        Check.dims(this, "lhs dims", concat(lhsBatch, lhsContracting), lhs.rank());
        Check.dims(this, "rhs dims", concat(rhsBatch, rhsContracting), rhs.rank());
        checkSame("batch", lhs, lhsBatch, rhs, rhsBatch);
        checkSame("contracting", lhs, lhsContracting, rhs, rhsContracting);
        List<Long> dims = new ArrayList<>();
        lhsBatch.forEach(d -> dims.add(lhs.dim(d)));
        lhsFree(lhs.rank()).forEach(d -> dims.add(lhs.dim(d)));
        rhsFree(rhs.rank()).forEach(d -> dims.add(rhs.dim(d)));
        return ArrayShape.of(dtype, dims.stream().mapToLong(Long::longValue).toArray());
    }

    private static void checkSame(
            String what, ArrayShape lhs, List<Integer> left, ArrayShape rhs, List<Integer> right) {
        boolean same = left.size() == right.size();
        for (int i = 0; same && i < left.size(); i++) {
            same = lhs.dim(left.get(i)) == rhs.dim(right.get(i));
        }
        Check.that(
                same,
                "The %s dims (%s and %s) of dot must be of the same sizes in its operands (%s and %s).",
                what,
                left,
                right,
                lhs,
                rhs);
    }

    /** Dims of the left operand that are neither batch nor contracted. */
    public List<Integer> lhsFree(int rank) {
        return rest(rank, lhsBatch, lhsContracting);
    }

    /** Dims of the right operand that are neither batch nor contracted. */
    public List<Integer> rhsFree(int rank) {
        return rest(rank, rhsBatch, rhsContracting);
    }

    private static List<Integer> rest(int rank, List<Integer> batch, List<Integer> contracting) {
        Set<Integer> taken = new HashSet<>(batch);
        taken.addAll(contracting);
        List<Integer> out = new ArrayList<>();
        for (int d = 0; d < rank; d++) {
            if (!taken.contains(d)) {
                out.add(d);
            }
        }
        return out;
    }

    private static List<Integer> concat(List<Integer> first, List<Integer> second) {
        List<Integer> all = new ArrayList<>(first);
        all.addAll(second);
        return all;
    }

    @Override
    public FactorRule factors(List<Shape> operands, Shape result) {
        ArrayShape lhs = operands.get(0).asArray();
        ArrayShape rhs = operands.get(1).asArray();
        FactorRule.Builder rule = new FactorRule.Builder();
        List<List<Integer>> left = blank(lhs.rank());
        List<List<Integer>> right = blank(rhs.rank());
        List<List<Integer>> out = new ArrayList<>();
        for (int i = 0; i < lhsBatch.size(); i++) {
            long size = lhs.dim(lhsBatch.get(i));
            List<Integer> factor = size == 1 ? List.of() : List.of(rule.freePadded(size));
            left.set(lhsBatch.get(i), factor);
            right.set(rhsBatch.get(i), factor);
            out.add(factor);
        }
        for (int d : lhsFree(lhs.rank())) {
            List<Integer> factor = lhs.dim(d) == 1 ? List.of() : List.of(rule.freePadded(lhs.dim(d)));
            left.set(d, factor);
            out.add(factor);
        }
        for (int d : rhsFree(rhs.rank())) {
            List<Integer> factor = rhs.dim(d) == 1 ? List.of() : List.of(rule.freePadded(rhs.dim(d)));
            right.set(d, factor);
            out.add(factor);
        }
        for (int i = 0; i < lhsContracting.size(); i++) {
            long size = lhs.dim(lhsContracting.get(i));
            List<Integer> factor = size == 1 ? List.of() : List.of(rule.sumPadded(size));
            left.set(lhsContracting.get(i), factor);
            right.set(rhsContracting.get(i), factor);
        }
        return rule.operand(left).operand(right).result(out).build();
    }

    private static List<List<Integer>> blank(int rank) {
        List<List<Integer>> dims = new ArrayList<>();
        for (int i = 0; i < rank; i++) {
            dims.add(List.of());
        }
        return dims;
    }

    @Override
    public List<Set<Integer>> linearGroups() {
        return List.of(Set.of(0), Set.of(1));
    }

    @Override
    public long flops(List<Shape> operands, Shape result) {
        long contracted = 1;
        for (int d : lhsContracting) {
            contracted *= operands.get(0).asArray().dim(d);
        }
        return 2 * contracted * result.asArray().elements();
    }

    /** Products and sums in double (or long), rounded once at the end: at least as exact as XLA. */
    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        Literal lhs = operands.get(0).literal();
        Literal rhs = operands.get(1).literal();
        ArrayShape l = lhs.shape();
        ArrayShape r = rhs.shape();
        int batch = (int) Walk.product(Walk.pick(l.dims(), lhsBatch));
        int m = (int) Walk.product(Walk.pick(l.dims(), lhsFree(l.rank())));
        int n = (int) Walk.product(Walk.pick(r.dims(), rhsFree(r.rank())));
        int k = (int) Walk.product(Walk.pick(l.dims(), lhsContracting));
        int[] left = packed(l, concat(lhsBatch, concat(lhsFree(l.rank()), lhsContracting)));
        int[] right = packed(r, concat(rhsBatch, concat(rhsContracting, rhsFree(r.rank()))));
        ArrayShape shape = self.array();
        if (dtype.isComplex()) {
            return Literal.ofDoubles(shape, complex(lhs.doubles(), left, rhs.doubles(), right, batch, m, k, n));
        }
        if (dtype.isFloat()) {
            double[] b = doubles(rhs, right);
            double[] a = doubles(lhs, left);
            return Literal.ofDoubles(shape, multiply(a, b, batch, m, k, n));
        }
        long[] out = new long[batch * m * n];
        for (int row = 0; row < batch * m; row++) {
            int base = row / m * k * n;
            for (int i = 0; i < k; i++) {
                long x = lhs.asLong(left[row * k + i]);
                for (int j = 0; j < n; j++) {
                    out[row * n + j] += x * rhs.asLong(right[base + i * n + j]);
                }
            }
        }
        return Literal.ofLongs(shape, out);
    }

    /** {@code c[b,m,n] = sum_k a[b,m,k] b[b,k,n]}; the inner loop runs along n and vectorizes. */
    private static double[] multiply(double[] a, double[] b, int batch, int m, int k, int n) {
        double[] out = new double[batch * m * n];
        if (n == 1) {
            for (int row = 0; row < batch * m; row++) {
                int base = row / m * k;
                double sum = 0;
                for (int i = 0; i < k; i++) {
                    sum += a[row * k + i] * b[base + i];
                }
                out[row] = sum;
            }
            return out;
        }
        for (int row = 0; row < batch * m; row++) {
            int base = row / m * k * n;
            int at = row * n;
            for (int i = 0; i < k; i++) {
                double x = a[row * k + i];
                int from = base + i * n;
                for (int j = 0; j < n; j++) {
                    out[at + j] += x * b[from + j];
                }
            }
        }
        return out;
    }

    private static double[] complex(double[] a, int[] left, double[] b, int[] right, int batch, int m, int k, int n) {
        double[] out = new double[2 * batch * m * n];
        for (int row = 0; row < batch * m; row++) {
            int base = row / m * k * n;
            for (int i = 0; i < k; i++) {
                double re = a[2 * left[row * k + i]];
                double im = a[2 * left[row * k + i] + 1];
                for (int j = 0; j < n; j++) {
                    int from = 2 * right[base + i * n + j];
                    out[2 * (row * n + j)] += re * b[from] - im * b[from + 1];
                    out[2 * (row * n + j) + 1] += re * b[from + 1] + im * b[from];
                }
            }
        }
        return out;
    }

    /** For each element in the order of these dims, its position in the array. */
    private static int[] packed(ArrayShape shape, List<Integer> order) {
        long[] dims = Walk.pick(shape.dims(), order);
        Walk walk = new Walk(dims, Walk.pick(shape.strides(), order));
        int[] out = new int[(int) shape.elements()];
        int at = 0;
        for (boolean more = walk.any(); more; more = walk.next()) {
            out[at++] = walk.offset(0);
        }
        return out;
    }

    private static double[] doubles(Literal literal, int[] order) {
        double[] out = new double[order.length];
        for (int i = 0; i < out.length; i++) {
            out[i] = literal.asDouble(order[i]);
        }
        return out;
    }

    @Override
    public List<@Nullable Instruction> vjp(
            VjpContext context, Instruction self, List<@Nullable Instruction> cotangents) {
        Instruction dz = cotangents.get(0);
        if (dz == null) {
            return Arrays.asList(null, null);
        }
        Instruction lhs = self.operand(0);
        Instruction rhs = self.operand(1);
        int batch = lhsBatch.size();
        List<Integer> left = lhsFree(lhs.array().rank());
        List<Integer> right = rhsFree(rhs.array().rank());
        List<Integer> batchOfZ = range(0, batch);
        List<Integer> leftOfZ = range(batch, batch + left.size());
        List<Integer> rightOfZ = range(batch + left.size(), batch + left.size() + right.size());
        return List.of(
                gradient(
                        context.build(),
                        dz,
                        batchOfZ,
                        rightOfZ,
                        rhs,
                        rhsBatch,
                        right,
                        rhsContracting,
                        lhs,
                        lhsBatch,
                        left,
                        lhsContracting),
                gradient(
                        context.build(),
                        dz,
                        batchOfZ,
                        leftOfZ,
                        lhs,
                        lhsBatch,
                        left,
                        lhsContracting,
                        rhs,
                        rhsBatch,
                        right,
                        rhsContracting));
    }

    /**
     * Contracts dz with the other operand over the other's free dims. What comes out is {@code (batch, own free, contracted)} or, with the
     * factors swapped, {@code (batch, contracted, own free)}, whichever is the operand's own order (so that a weight {@code [k, n]} gets
     * its gradient without a transpose); if neither is, the first is transposed.
     */
    private static Instruction gradient(
            OpBuilder build,
            Instruction dz,
            List<Integer> batchOfZ,
            List<Integer> contractedOfZ,
            Instruction other,
            List<Integer> otherBatch,
            List<Integer> otherFree,
            List<Integer> otherContracting,
            Instruction own,
            List<Integer> ownBatch,
            List<Integer> ownFree,
            List<Integer> ownContracting) {
        DType type = dz.array().dtype();
        DType ownType = own.array().dtype();
        Instruction factor = other.array().dtype() == type ? other : build.convert(other, type);
        List<Integer> contracted = otherContracting.stream()
                .sorted()
                .map(d -> ownContracting.get(otherContracting.indexOf(d)))
                .toList();
        // The own dim that each dim of the product is.
        List<Integer> swapped = concat(concat(ownBatch, contracted), ownFree);
        if (swapped.equals(range(0, swapped.size()))) {
            return build.builder().add(new Dot(otherBatch, batchOfZ, otherFree, contractedOfZ, ownType), factor, dz);
        }
        Dot product = new Dot(batchOfZ, otherBatch, contractedOfZ, otherFree, ownType);
        List<Integer> dims = concat(concat(ownBatch, ownFree), contracted);
        List<Integer> order = range(0, dims.size()).stream().map(dims::indexOf).toList();
        return build.transpose(build.builder().add(product, dz, factor), order);
    }

    private static List<Integer> range(int from, int to) {
        List<Integer> out = new ArrayList<>();
        for (int i = from; i < to; i++) {
            out.add(i);
        }
        return out;
    }
}
