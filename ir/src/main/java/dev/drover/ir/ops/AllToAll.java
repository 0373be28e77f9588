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
 * Each device of a group sends its n-th piece to the n-th device of the group, and gets the pieces in the order of their senders. With
 * a dim, pieces are equal blocks of one operand along it and the result joins them along it, so shapes stay. Without (tuple form),
 * pieces are the operands, as many as a group has devices, all of one shape, and the result is a tuple.
 *
 * @param splitDimension the dim, or -1 for the tuple form
 */
public record AllToAll(Channel channel, int splitDimension) implements Collective {
    static final OpKind KIND = new OpKind("all-to-all", AllToAll::parse);

    private static Op parse(OpSource source) {
        List<Integer> dimensions = source.ints("dimensions");
        return new AllToAll(Channel.parse(source), dimensions.isEmpty() ? -1 : dimensions.get(0));
    }

    @Override
    public String opcode() {
        return "all-to-all";
    }

    @Override
    public void print(OpWriter writer) {
        channel.print(writer);
        if (splitDimension >= 0) {
            writer.numbers("dimensions", List.of(splitDimension));
        }
        channel.printGlobal(writer);
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        int size = channel.groups().groupSize();
        if (splitDimension >= 0) {
            Check.count(this, operands, 1);
            ArrayShape array = Check.array(this, operands, 0);
            Check.dims(this, "dimensions", List.of(splitDimension), array.rank());
            Check.that(
                    size == 0 || array.dim(splitDimension) % size == 0,
                    "The operand (%s) of all-to-all must divide along dim %s by the size of its groups (%s).",
                    array,
                    splitDimension,
                    size);
            return array;
        }
        Check.that(
                !operands.isEmpty() && (size == 0 || operands.size() == size),
                "The operands (%s) of all-to-all must be as many as its groups (%s) have members.",
                operands.size(),
                channel.groups());
        for (Shape operand : operands) {
            Check.that(
                    operand.equals(operands.get(0)),
                    "The operands (%s and %s) of all-to-all must have the same shape.",
                    operands.get(0),
                    operand);
        }
        return new TupleShape(operands);
    }

    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        List<List<Value>> all = context.exchange(operands);
        List<Integer> group = channel.groups().groupOf(context.device(), context.devices());
        int here = group.indexOf(context.device());
        List<Literal> pieces = new ArrayList<>();
        for (int member : group) {
            List<Value> theirs = all.get(member);
            pieces.add(
                    splitDimension >= 0
                            ? Blocks.block(theirs.get(0).literal(), splitDimension, here, group.size())
                            : theirs.get(here).literal());
        }
        if (splitDimension >= 0) {
            return Blocks.concatenate(pieces, splitDimension);
        }
        return new Value.Tuple(List.copyOf(pieces));
    }

    @Override
    public boolean hasSideEffect() {
        return true;
    }
}
