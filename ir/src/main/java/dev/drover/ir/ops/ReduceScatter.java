package dev.drover.ir.ops;

import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.Shape;
import dev.drover.ir.type.TupleShape;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * An {@link AllReduce} of which the n-th device of a group keeps the n-th block along a dim. An array for one operand, a tuple for
 * several.
 *
 * @param groupSize devices of a group: the operand's dim is that many times the result's
 */
public record ReduceScatter(Channel channel, int dimension, long groupSize, Computation reducer) implements Collective {
    static final OpKind KIND = new OpKind("reduce-scatter", ReduceScatter::parse);

    private static Op parse(OpSource source) {
        List<Integer> dimensions = source.ints("dimensions");
        ArrayShape before = source.operands().get(0).asArray();
        ArrayShape after = source.shape().leaves().get(0);
        if (dimensions.size() != 1 || dimensions.get(0) >= after.rank() || dimensions.get(0) >= before.rank()) {
            throw new AttributeException(
                    "dimensions",
                    "The dimensions (" + dimensions + ") of reduce-scatter must be one dim of its operand (" + before
                            + ").");
        }
        int dimension = dimensions.get(0);
        long size = after.dim(dimension) == 0 ? 1 : before.dim(dimension) / after.dim(dimension);
        return new ReduceScatter(Channel.parse(source), dimension, size, source.computation("to_apply"));
    }

    @Override
    public String opcode() {
        return "reduce-scatter";
    }

    @Override
    public List<Computation> calls() {
        return List.of(reducer);
    }

    @Override
    public Op withCalls(List<Computation> callees) {
        return new ReduceScatter(channel, dimension, groupSize, callees.get(0));
    }

    @Override
    public void print(OpWriter writer) {
        channel.print(writer);
        channel.printGlobal(writer);
        writer.numbers("dimensions", List.of(dimension));
        writer.computation("to_apply", reducer);
    }

    /** The reduction that this is, or null for other reducers. */
    public @Nullable Reduction reduction() {
        return Reducers.of(reducer);
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        Check.that(!operands.isEmpty(), "The operands (%s) of reduce-scatter must be at least 1.", operands.size());
        int size = channel.groups().groupSize();
        Check.that(
                groupSize > 0 && (size == 0 || size == groupSize),
                "The operand of reduce-scatter must be as many times its result (%s) as its replica_groups (%s) have members.",
                groupSize,
                channel.groups());
        List<Shape> results = new ArrayList<>();
        for (int i = 0; i < operands.size(); i++) {
            ArrayShape array = Check.array(this, operands, i);
            Check.dims(this, "dimensions", List.of(dimension), array.rank());
            Check.that(
                    array.dim(dimension) % groupSize == 0,
                    "The operand (%s) of reduce-scatter must divide along dim %s by the size of its groups (%s).",
                    array,
                    dimension,
                    groupSize);
            results.add(array.withDim(dimension, array.dim(dimension) / groupSize));
        }
        return results.size() == 1 ? results.get(0) : new TupleShape(results);
    }

    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        List<List<Value>> all = context.exchange(operands);
        List<Integer> group = channel.groups().groupOf(context.device(), context.devices());
        List<Value> results = new ArrayList<>();
        for (int i = 0; i < operands.size(); i++) {
            results.add(Blocks.block(
                    AllReduce.combined(context, reducer, all, group, i),
                    dimension,
                    group.indexOf(context.device()),
                    group.size()));
        }
        return Folds.together(results);
    }

    @Override
    public boolean hasSideEffect() {
        return true;
    }
}
