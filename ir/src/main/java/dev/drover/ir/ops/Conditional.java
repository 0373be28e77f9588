package dev.drover.ir.ops;

import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.ir.type.Shape;
import java.util.List;

/**
 * Evaluates one of several computations. Operands: the choice, then the argument of each branch. The choice is a {@code pred[]} (true: branch 0,
 * false: branch 1) or an {@code s32[]} (out of range: the last branch).
 *
 * @param byPredicate whether the choice is a {@code pred[]}
 */
public record Conditional(List<Computation> branches, boolean byPredicate) implements Op {
    static final OpKind KIND = new OpKind("conditional", Conditional::parse);

    public Conditional {
        branches = List.copyOf(branches);
        if (branches.isEmpty() || (byPredicate && branches.size() != 2)) {
            throw new IllegalArgumentException(
                    "The branches (" + branches.size() + ") of conditional must be at least 1, and 2 for a pred.");
        }
    }

    private static Op parse(OpSource source) {
        if (source.has("branch_computations")) {
            boolean byPredicate = source.operands().get(0).equals(ArrayShape.scalar(DType.PRED));
            return new Conditional(source.computations("branch_computations"), byPredicate);
        }
        return new Conditional(
                List.of(source.computation("true_computation"), source.computation("false_computation")), true);
    }

    @Override
    public String opcode() {
        return "conditional";
    }

    @Override
    public List<Computation> calls() {
        return branches;
    }

    @Override
    public Op withCalls(List<Computation> callees) {
        return new Conditional(callees, byPredicate);
    }

    @Override
    public void print(OpWriter writer) {
        if (byPredicate) {
            writer.computation("true_computation", branches.get(0));
            writer.computation("false_computation", branches.get(1));
        } else {
            writer.computations("branch_computations", branches);
        }
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        Check.count(this, operands, branches.size() + 1);
        ArrayShape choice = ArrayShape.scalar(byPredicate ? DType.PRED : DType.S32);
        Check.that(
                operands.get(0).equals(choice),
                "The choice (%s) of conditional must be a %s.",
                operands.get(0),
                choice);
        Shape result = branches.get(0).root().shape();
        for (int i = 0; i < branches.size(); i++) {
            Shape root = Call.inferCall(this, branches.get(i), List.of(operands.get(i + 1)));
            Check.that(
                    root.equals(result),
                    "The root (%s) of branch (%s) of conditional must have the shape of the first branch's (%s).",
                    root,
                    branches.get(i).name(),
                    result);
        }
        return result;
    }

    /** Of the dearest branch. */
    @Override
    public long flops(List<Shape> operands, Shape result) {
        return branches.stream().mapToLong(Call::flops).max().orElse(0);
    }

    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        Literal choice = operands.get(0).literal();
        long index = byPredicate ? 1 - choice.asLong(0) : choice.asLong(0);
        int branch = index < 0 || index >= branches.size() ? branches.size() - 1 : (int) index;
        return context.call(branches.get(branch), List.of(operands.get(branch + 1)));
    }

    @Override
    public boolean hasSideEffect() {
        return branches.stream().anyMatch(Call::hasSideEffect);
    }
}
