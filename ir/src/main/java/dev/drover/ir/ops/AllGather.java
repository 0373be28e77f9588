package dev.drover.ir.ops;

import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.Shape;
import dev.drover.ir.type.TupleShape;
import java.util.ArrayList;
import java.util.List;

/**
 * Concatenates the operands of a group's devices along a dim, in the order of the group. An array for one operand, a tuple for several;
 * {@code all-gather-start} yields a tuple of the operand and the result.
 *
 * @param groupSize devices of a group: the result's dim is that many times the operand's
 */
public record AllGather(Channel channel, int dimension, long groupSize, boolean start) implements Collective {
    static final OpKind KIND = new OpKind("all-gather", source -> parse(source, false));
    static final OpKind START = new OpKind("all-gather-start", source -> parse(source, true));

    public AllGather(Channel channel, int dimension, long groupSize) {
        this(channel, dimension, groupSize, false);
    }

    private static Op parse(OpSource source, boolean start) {
        List<Integer> dimensions = source.ints("dimensions");
        if (dimensions.size() != 1) {
            throw new AttributeException(
                    "dimensions", "The dimensions (" + dimensions + ") of " + source.opcode() + " must be one.");
        }
        int dimension = dimensions.get(0);
        long before = dim(source, source.operands().get(0), dimension);
        List<ArrayShape> leaves = source.shape().leaves();
        long after = dim(source, leaves.get(start ? source.operands().size() : 0), dimension);
        return new AllGather(Channel.parse(source), dimension, before == 0 ? 1 : after / before, start);
    }

    private static long dim(OpSource source, Shape shape, int dimension) {
        if (shape instanceof ArrayShape array && dimension >= 0 && dimension < array.rank()) {
            return array.dim(dimension);
        }
        throw new AttributeException(
                "dimensions",
                "The dimensions ({" + dimension + "}) of " + source.opcode() + " must be a dim of " + shape + ".");
    }

    @Override
    public String opcode() {
        return start ? "all-gather-start" : "all-gather";
    }

    @Override
    public void print(OpWriter writer) {
        channel.print(writer);
        writer.numbers("dimensions", List.of(dimension));
        channel.printGlobal(writer);
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        Check.that(!operands.isEmpty(), "The operands (%s) of %s must be at least 1.", operands.size(), opcode());
        int size = channel.groups().groupSize();
        Check.that(
                size == 0 || size == groupSize,
                "The result of %s must be as many times its operand (%s) as its replica_groups (%s) have members.",
                opcode(),
                groupSize,
                channel.groups());
        List<Shape> results = new ArrayList<>();
        for (int i = 0; i < operands.size(); i++) {
            ArrayShape array = Check.array(this, operands, i);
            Check.dims(this, "dimensions", List.of(dimension), array.rank());
            results.add(array.withDim(dimension, array.dim(dimension) * groupSize));
        }
        Shape result = results.size() == 1 ? results.get(0) : new TupleShape(results);
        Shape given = operands.size() == 1 ? operands.get(0) : new TupleShape(operands);
        return start ? new TupleShape(List.of(given, result)) : result;
    }

    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        List<List<Value>> all = context.exchange(operands);
        List<Integer> group = channel.groups().groupOf(context.device(), context.devices());
        List<Value> results = new ArrayList<>();
        for (int i = 0; i < operands.size(); i++) {
            List<Literal> parts = new ArrayList<>();
            for (int member : group) {
                parts.add(all.get(member).get(i).literal());
            }
            results.add(Blocks.concatenate(parts, dimension));
        }
        Value result = Folds.together(results);
        Value given = Folds.together(operands);
        return start ? new Value.Tuple(List.of(given, result)) : result;
    }

    @Override
    public boolean hasSideEffect() {
        return true;
    }
}
