package dev.drover.ir.ops;

import dev.drover.ir.eval.Literal;
import dev.drover.ir.graph.ComputationBuilder;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.ir.type.Shape;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.stream.IntStream;

/**
 * Short forms for appending common ops; used by gradient rules, optimizers and models.
 *
 * <p>Where two operands are taken, a scalar is broadcast to the other's dims, and a plain number becomes a constant of the
 * other's type. Nothing else is broadcast implicitly. Nothing is simplified but what changes nothing: a broadcast, reshape,
 * convert or transpose to what is already there.
 */
public final class OpBuilder {
    private final ComputationBuilder builder;

    public OpBuilder(ComputationBuilder builder) {
        this.builder = builder;
    }

    public ComputationBuilder builder() {
        return builder;
    }

    public Instruction parameter(String name, Shape shape) {
        return builder.parameter(name, shape);
    }

    // Constants and shapes

    /** A scalar constant. */
    public Instruction constant(DType dtype, double value) {
        return constant(Literal.scalar(dtype, value));
    }

    public Instruction constant(Literal literal) {
        return builder.add(Constant.of(literal));
    }

    /** A shape filled with a number: a scalar constant, broadcast. */
    public Instruction full(ArrayShape shape, double value) {
        return broadcastTo(constant(shape.dtype(), value), shape);
    }

    public Instruction zeros(ArrayShape shape) {
        return full(shape, 0);
    }

    public Instruction zerosLike(Instruction x) {
        return full(x.array(), 0);
    }

    public Instruction onesLike(Instruction x) {
        return full(x.array(), 1);
    }

    /** Indexes along a dim. */
    public Instruction iota(ArrayShape shape, int dim) {
        return builder.add(new Iota(shape, dim));
    }

    /** Dim k of {@code x} becomes dim {@code dimensions[k]} of the result. */
    public Instruction broadcast(Instruction x, long[] sizes, int... dimensions) {
        List<Integer> list = Arrays.stream(dimensions).boxed().toList();
        boolean same = Arrays.equals(sizes, x.array().dims()) && list.equals(all(sizes.length));
        return same ? x : builder.add(new Broadcast(Dims.list(sizes), list), x);
    }

    /** A scalar repeated to the dims of a shape; an array of that shape stays as it is. */
    public Instruction broadcastTo(Instruction x, ArrayShape shape) {
        return Check.sameDims(x.array(), shape) ? x : broadcast(x, shape.dims());
    }

    /** {@code x} repeated along the dims of a shape that are listed; its own dims are the others, in order. */
    public Instruction broadcastAlong(Instruction x, ArrayShape shape, List<Integer> added) {
        int[] kept =
                IntStream.range(0, shape.rank()).filter(d -> !added.contains(d)).toArray();
        return broadcast(x, shape.dims(), kept);
    }

    public Instruction reshape(Instruction x, long... sizes) {
        return Arrays.equals(sizes, x.array().dims()) ? x : builder.add(new Reshape(Dims.list(sizes)), x);
    }

    /** Dim k of the result is dim {@code permutation[k]} of {@code x}. */
    public Instruction transpose(Instruction x, int... permutation) {
        return transpose(x, Arrays.stream(permutation).boxed().toList());
    }

    public Instruction transpose(Instruction x, List<Integer> permutation) {
        return permutation.equals(all(x.array().rank())) ? x : builder.add(new Transpose(permutation), x);
    }

    public Instruction convert(Instruction x, DType dtype) {
        return x.array().dtype() == dtype ? x : builder.add(new Convert(dtype), x);
    }

    /** The elements from {@code start} to before {@code limit} along one dim. */
    public Instruction slice(Instruction x, int dim, long start, long limit) {
        long[] starts = new long[x.array().rank()];
        long[] limits = x.array().dims();
        starts[dim] = start;
        limits[dim] = limit;
        return slice(x, starts, limits);
    }

    public Instruction slice(Instruction x, long[] starts, long[] limits) {
        List<Long> strides = Collections.nCopies(starts.length, 1L);
        return builder.add(new Slice(Dims.list(starts), Dims.list(limits), strides), x);
    }

    /** Surrounds with a number; negative widths cut off. */
    public Instruction pad(Instruction x, double value, long[] low, long[] high) {
        Instruction filler = constant(x.array().dtype(), value);
        List<Long> interior = Collections.nCopies(low.length, 0L);
        return builder.add(new Pad(Dims.list(low), Dims.list(high), interior), x, filler);
    }

    public Instruction concat(int dim, List<Instruction> parts) {
        return builder.add(new Concatenate(dim, parts.size()), parts);
    }

    public Instruction concat(int dim, Instruction... parts) {
        return concat(dim, Arrays.asList(parts));
    }

    public Instruction reverse(Instruction x, Integer... dims) {
        return builder.add(new Reverse(Arrays.asList(dims)), x);
    }

    /** A box of these sizes from start indexes, one integer scalar for each dim. */
    public Instruction dynamicSlice(Instruction x, List<Instruction> starts, long... sizes) {
        List<Instruction> operands = new ArrayList<>(List.of(x));
        operands.addAll(starts);
        return builder.add(new DynamicSlice(Dims.list(sizes)), operands);
    }

    public Instruction dynamicUpdateSlice(Instruction x, Instruction update, List<Instruction> starts) {
        List<Instruction> operands = new ArrayList<>(List.of(x, update));
        operands.addAll(starts);
        return builder.add(new DynamicUpdateSlice(), operands);
    }

    public Instruction tuple(List<Instruction> elements) {
        return builder.add(new Tuple(elements.size()), elements);
    }

    public Instruction tuple(Instruction... elements) {
        return tuple(Arrays.asList(elements));
    }

    public Instruction element(Instruction tuple, int index) {
        return builder.add(new GetTupleElement(index), tuple);
    }

    // Elementwise

    public Instruction unary(UnaryKind kind, Instruction x) {
        return builder.add(new Unary(kind), x);
    }

    /** Either operand may be a scalar. */
    public Instruction binary(BinaryKind kind, Instruction x, Instruction y) {
        return builder.add(new Binary(kind), fit(x, y), fit(y, x));
    }

    /** {@code x}, broadcast to the dims of {@code other} if it is a scalar. */
    private Instruction fit(Instruction x, Instruction other) {
        return x.array().rank() == 0 ? broadcastTo(x, other.array()) : x;
    }

    /** A number as {@code x} has them. */
    private Instruction like(Instruction x, double value) {
        return full(x.array(), value);
    }

    public Instruction add(Instruction x, Instruction y) {
        return binary(BinaryKind.ADD, x, y);
    }

    public Instruction add(Instruction x, double y) {
        return add(x, like(x, y));
    }

    public Instruction sub(Instruction x, Instruction y) {
        return binary(BinaryKind.SUBTRACT, x, y);
    }

    public Instruction sub(Instruction x, double y) {
        return sub(x, like(x, y));
    }

    public Instruction sub(double x, Instruction y) {
        return sub(like(y, x), y);
    }

    public Instruction mul(Instruction x, Instruction y) {
        return binary(BinaryKind.MULTIPLY, x, y);
    }

    public Instruction mul(Instruction x, double y) {
        return mul(x, like(x, y));
    }

    public Instruction div(Instruction x, Instruction y) {
        return binary(BinaryKind.DIVIDE, x, y);
    }

    public Instruction div(Instruction x, double y) {
        return div(x, like(x, y));
    }

    public Instruction div(double x, Instruction y) {
        return div(like(y, x), y);
    }

    public Instruction pow(Instruction x, Instruction y) {
        return binary(BinaryKind.POWER, x, y);
    }

    public Instruction pow(Instruction x, double y) {
        return pow(x, like(x, y));
    }

    public Instruction max(Instruction x, Instruction y) {
        return binary(BinaryKind.MAXIMUM, x, y);
    }

    public Instruction max(Instruction x, double y) {
        return max(x, like(x, y));
    }

    public Instruction min(Instruction x, Instruction y) {
        return binary(BinaryKind.MINIMUM, x, y);
    }

    public Instruction min(Instruction x, double y) {
        return min(x, like(x, y));
    }

    public Instruction and(Instruction x, Instruction y) {
        return binary(BinaryKind.AND, x, y);
    }

    public Instruction or(Instruction x, Instruction y) {
        return binary(BinaryKind.OR, x, y);
    }

    public Instruction not(Instruction x) {
        return unary(UnaryKind.NOT, x);
    }

    public Instruction neg(Instruction x) {
        return unary(UnaryKind.NEGATE, x);
    }

    public Instruction abs(Instruction x) {
        return unary(UnaryKind.ABS, x);
    }

    public Instruction sign(Instruction x) {
        return unary(UnaryKind.SIGN, x);
    }

    public Instruction floor(Instruction x) {
        return unary(UnaryKind.FLOOR, x);
    }

    public Instruction exp(Instruction x) {
        return unary(UnaryKind.EXPONENTIAL, x);
    }

    public Instruction expm1(Instruction x) {
        return unary(UnaryKind.EXPONENTIAL_MINUS_ONE, x);
    }

    public Instruction log(Instruction x) {
        return unary(UnaryKind.LOG, x);
    }

    public Instruction log1p(Instruction x) {
        return unary(UnaryKind.LOG_PLUS_ONE, x);
    }

    public Instruction tanh(Instruction x) {
        return unary(UnaryKind.TANH, x);
    }

    public Instruction logistic(Instruction x) {
        return unary(UnaryKind.LOGISTIC, x);
    }

    public Instruction erf(Instruction x) {
        return unary(UnaryKind.ERF, x);
    }

    public Instruction sqrt(Instruction x) {
        return unary(UnaryKind.SQRT, x);
    }

    public Instruction rsqrt(Instruction x) {
        return unary(UnaryKind.RSQRT, x);
    }

    public Instruction sin(Instruction x) {
        return unary(UnaryKind.SINE, x);
    }

    public Instruction cos(Instruction x) {
        return unary(UnaryKind.COSINE, x);
    }

    public Instruction real(Instruction x) {
        return unary(UnaryKind.REAL, x);
    }

    public Instruction imag(Instruction x) {
        return unary(UnaryKind.IMAG, x);
    }

    public Instruction complex(Instruction re, Instruction im) {
        return binary(BinaryKind.COMPLEX, re, im);
    }

    public Instruction compare(Instruction x, Instruction y, Compare.Direction direction) {
        return builder.add(new Compare(direction), fit(x, y), fit(y, x));
    }

    public Instruction compare(Instruction x, double y, Compare.Direction direction) {
        return compare(x, like(x, y), direction);
    }

    public Instruction equal(Instruction x, Instruction y) {
        return compare(x, y, Compare.Direction.EQ);
    }

    /** {@code predicate ? onTrue : onFalse}; each may be a scalar. */
    public Instruction select(Instruction predicate, Instruction onTrue, Instruction onFalse) {
        Instruction x = onTrue.array().rank() == 0 ? fit(onTrue, onFalse) : onTrue;
        Instruction fitted = x.array().rank() == 0 ? fit(x, predicate) : x;
        return builder.add(new Select(), predicate, fitted, fit(onFalse, fitted));
    }

    public Instruction select(Instruction predicate, Instruction onTrue, double onFalse) {
        return select(predicate, onTrue, like(onTrue, onFalse));
    }

    public Instruction clamp(Instruction x, double low, double high) {
        DType dtype = x.array().dtype();
        return builder.add(new Clamp(), constant(dtype, low), x, constant(dtype, high));
    }

    // Reductions and contractions

    /** Combines along dims, which go away. */
    public Instruction reduce(Reduction reduction, Instruction x, List<Integer> dims) {
        if (dims.isEmpty()) {
            return x;
        }
        DType dtype = x.array().dtype();
        Instruction neutral = constant(Reducers.neutral(reduction, dtype));
        return builder.add(new Reduce(dims, Reducers.computation(reduction, dtype)), x, neutral);
    }

    public Instruction sum(Instruction x, List<Integer> dims) {
        return reduce(Reduction.SUM, x, dims);
    }

    public Instruction sum(Instruction x, Integer... dims) {
        return sum(x, Arrays.asList(dims));
    }

    /** The sum of all elements, a scalar. */
    public Instruction sumAll(Instruction x) {
        return sum(x, all(x.array().rank()));
    }

    /** {@code x}, or the sum of all its elements if the shape is a scalar's: undoes {@link #broadcastTo}. */
    public Instruction sumTo(Instruction x, ArrayShape shape) {
        return shape.rank() == 0 ? sumAll(x) : x;
    }

    /** The mean along dims, which go away. */
    public Instruction mean(Instruction x, Integer... dims) {
        Instruction sum = sum(x, dims);
        long count = x.array().elements() / Math.max(1, sum.array().elements());
        return mul(sum, 1.0 / count);
    }

    public Instruction maxOver(Instruction x, Integer... dims) {
        return reduce(Reduction.MAX, x, Arrays.asList(dims));
    }

    /** Matrix product {@code [m,k] [k,n] -> [m,n]}; with equal leading dims, a batch of them. */
    public Instruction matmul(Instruction x, Instruction y) {
        int rank = x.array().rank();
        List<Integer> batch = all(rank - 2);
        return dot(x, y, batch, batch, List.of(rank - 1), List.of(rank - 2));
    }

    /** {@code [.., k] [k, ..] -> [.., ..]}: the last dim of one with the first of the other. */
    public Instruction dense(Instruction x, Instruction weights) {
        return dot(x, weights, List.of(), List.of(), List.of(x.array().rank() - 1), List.of(0));
    }

    /** General contraction, in the operands' type. */
    public Instruction dot(
            Instruction x,
            Instruction y,
            List<Integer> xBatch,
            List<Integer> yBatch,
            List<Integer> xContracting,
            List<Integer> yContracting) {
        DType dtype = x.array().dtype();
        return builder.add(new Dot(xBatch, yBatch, xContracting, yContracting, dtype), x, y);
    }

    private static List<Integer> all(int rank) {
        return IntStream.range(0, rank).boxed().toList();
    }
}
