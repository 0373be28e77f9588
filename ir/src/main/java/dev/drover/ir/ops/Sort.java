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
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Sorts n arrays of the same dims together along a dim. The comparator takes two elements of each array, {@code (x0, y0, x1, y1, ..)}, and
 * says whether x comes before y. The result is an array for n = 1, else a tuple.
 */
public record Sort(int dimension, boolean isStable, Computation comparator) implements Op {
    static final OpKind KIND = new OpKind("sort", Sort::parse);

    private static Op parse(OpSource source) {
        List<Integer> dimensions = source.ints("dimensions");
        if (dimensions.size() != 1) {
            throw new AttributeException("dimensions", "The dimensions (" + dimensions + ") of sort must be one.");
        }
        return new Sort(dimensions.get(0), source.flag("is_stable", false), source.computation("to_apply"));
    }

    @Override
    public String opcode() {
        return "sort";
    }

    @Override
    public List<Computation> calls() {
        return List.of(comparator);
    }

    @Override
    public Op withCalls(List<Computation> callees) {
        return new Sort(dimension, isStable, callees.get(0));
    }

    @Override
    public void print(OpWriter writer) {
        writer.numbers("dimensions", List.of(dimension));
        if (isStable) {
            writer.attribute("is_stable", "true");
        }
        writer.computation("to_apply", comparator);
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        Check.that(!operands.isEmpty(), "The operands (%s) of sort must be at least 1.", operands.size());
        ArrayShape first = Check.array(this, operands, 0);
        Check.dims(this, "dimensions", List.of(dimension), first.rank());
        for (int i = 0; i < operands.size(); i++) {
            ArrayShape array = Check.array(this, operands, i);
            Check.that(
                    array.withDType(first.dtype()).equals(first),
                    "The operands (%s and %s) of sort must have the same dims.",
                    first,
                    array);
        }
        return operands.size() == 1 ? first : new TupleShape(operands);
    }

    @Override
    public FactorRule factors(List<Shape> operands, Shape result) {
        ArrayShape first = operands.get(0).asArray();
        FactorRule.Builder rule = new FactorRule.Builder();
        List<List<Integer>> dims = new ArrayList<>();
        for (int d = 0; d < first.rank(); d++) {
            Factor.Kind kind = d == dimension ? Factor.Kind.WHOLE : Factor.Kind.FREE;
            dims.add(first.dim(d) == 1 ? List.of() : List.of(rule.factor(first.dim(d), kind)));
        }
        for (int i = 0; i < operands.size(); i++) {
            rule.operand(dims);
            rule.result(dims);
        }
        return rule.build();
    }

    /** Stable whatever {@link #isStable} says: that is one of the allowed results. */
    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        List<Literal> arrays = operands.stream().map(Value::literal).toList();
        List<Literal> results = arrays.stream().map(Folds::copy).toList();
        ArrayShape shape = arrays.get(0).shape();
        int n = (int) shape.dim(dimension);
        int stride = (int) shape.strides()[dimension];
        Walk walk = new Walk(shape.withDim(dimension, Math.min(1, n)).dims(), shape.strides());
        int[] order = new int[n];
        int[] spare = new int[n];
        for (boolean more = walk.any(); more; more = walk.next()) {
            for (int i = 0; i < n; i++) {
                order[i] = walk.offset(0) + i * stride;
            }
            mergeSort(context, arrays, order, spare, 0, n);
            for (int i = 0; i < n; i++) {
                for (int a = 0; a < results.size(); a++) {
                    results.get(a).copyElement(arrays.get(a), order[i], walk.offset(0) + i * stride);
                }
            }
        }
        return Folds.together(results);
    }

    private void mergeSort(EvalContext context, List<Literal> arrays, int[] order, int[] spare, int from, int to) {
        if (to - from < 2) {
            return;
        }
        int middle = (from + to) >>> 1;
        mergeSort(context, arrays, order, spare, from, middle);
        mergeSort(context, arrays, order, spare, middle, to);
        System.arraycopy(order, from, spare, from, to - from);
        int left = from;
        int right = middle;
        for (int i = from; i < to; i++) {
            boolean takeRight = left == middle || (right < to && isBefore(context, arrays, spare[right], spare[left]));
            order[i] = takeRight ? spare[right++] : spare[left++];
        }
    }

    private boolean isBefore(EvalContext context, List<Literal> arrays, int x, int y) {
        List<Value> arguments = new ArrayList<>(2 * arrays.size());
        for (Literal array : arrays) {
            arguments.add(Folds.scalar(array, x));
            arguments.add(Folds.scalar(array, y));
        }
        return context.call(comparator, arguments).literal().asLong(0) != 0;
    }

    /** Sorts the positions along, then sorts the cotangents by them: back to where the elements were. */
    @Override
    public List<@Nullable Instruction> vjp(
            VjpContext context, Instruction self, List<@Nullable Instruction> cotangents) {
        if (cotangents.stream().allMatch(Objects::isNull)) {
            return Collections.nCopies(cotangents.size(), null);
        }
        OpBuilder build = context.build();
        ArrayShape positions = self.operand(0).array().withDType(DType.S32);
        List<Instruction> withPositions = new ArrayList<>(self.operands());
        withPositions.add(build.iota(positions, dimension));
        Instruction sorted = build.builder().add(new Sort(dimension, true, ignoringLast()), withPositions);
        List<Instruction> back = new ArrayList<>();
        back.add(build.element(sorted, withPositions.size() - 1));
        List<DType> types = new ArrayList<>(List.of(DType.S32));
        for (Instruction cotangent : cotangents) {
            if (cotangent != null) {
                back.add(cotangent);
                types.add(cotangent.array().dtype());
            }
        }
        Instruction unsorted = build.builder().add(new Sort(dimension, true, byFirst(types)), back);
        List<@Nullable Instruction> out = new ArrayList<>();
        int at = 1;
        for (Instruction cotangent : cotangents) {
            out.add(cotangent == null ? null : build.element(unsorted, at++));
        }
        return out;
    }

    /** The comparator with another pair of parameters that it does not read. */
    private Computation ignoringLast() {
        ComputationBuilder builder = new ComputationBuilder(comparator.name() + "_with_position");
        List<Instruction> arguments = new ArrayList<>();
        for (Instruction parameter : comparator.parameters()) {
            arguments.add(builder.parameter(parameter.name(), parameter.shape()));
        }
        builder.parameter("i", ArrayShape.scalar(DType.S32));
        builder.parameter("j", ArrayShape.scalar(DType.S32));
        return builder.build(builder.add(new Call(comparator), arguments));
    }

    /** Ascending by the first array. */
    private static Computation byFirst(List<DType> types) {
        ComputationBuilder builder = new ComputationBuilder("by_position");
        List<Instruction> parameters = new ArrayList<>();
        for (DType type : types) {
            parameters.add(builder.parameter("x", ArrayShape.scalar(type)));
            parameters.add(builder.parameter("y", ArrayShape.scalar(type)));
        }
        return builder.build(builder.add(new Compare(Compare.Direction.LT), parameters.get(0), parameters.get(1)));
    }
}
