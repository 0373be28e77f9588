package dev.drover.ir.ops;

import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.Shape;
import java.util.List;

/** The first device of each group sends its operand to the others of the group; a device in no group gets zeros. */
public record CollectiveBroadcast(Channel channel) implements Collective {
    static final OpKind KIND =
            new OpKind("collective-broadcast", source -> new CollectiveBroadcast(Channel.parse(source)));

    @Override
    public String opcode() {
        return "collective-broadcast";
    }

    @Override
    public void print(OpWriter writer) {
        channel.print(writer);
        channel.printGlobal(writer);
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        Check.count(this, operands, 1);
        return Check.array(this, operands, 0);
    }

    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        List<List<Value>> all = context.exchange(operands);
        List<List<Integer>> groups = channel.groups().groups();
        if (groups.isEmpty()) {
            return all.get(0).get(0);
        }
        for (List<Integer> group : groups) {
            if (group.contains(context.device())) {
                return all.get(group.get(0)).get(0);
            }
        }
        return Literal.zeros(operands.get(0).literal().shape());
    }

    @Override
    public boolean hasSideEffect() {
        return true;
    }
}
