package dev.drover.ir.ops;

import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.ir.type.Shape;
import java.util.List;

/** Repeats {@code body} on a value as long as {@code condition} holds; both take the value. */
public record While(Computation condition, Computation body) implements Op {
    static final OpKind KIND =
            new OpKind("while", source -> new While(source.computation("condition"), source.computation("body")));

    @Override
    public String opcode() {
        return "while";
    }

    @Override
    public List<Computation> calls() {
        return List.of(condition, body);
    }

    @Override
    public Op withCalls(List<Computation> callees) {
        return new While(callees.get(0), callees.get(1));
    }

    @Override
    public void print(OpWriter writer) {
        writer.computation("condition", condition);
        writer.computation("body", body);
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        Check.count(this, operands, 1);
        Shape goOn = Call.inferCall(this, condition, operands);
        Check.that(
                goOn.equals(ArrayShape.scalar(DType.PRED)),
                "The root (%s) of the condition (%s) of while must be a pred[].",
                goOn,
                condition.name());
        Shape next = Call.inferCall(this, body, operands);
        Check.that(
                next.equals(operands.get(0)),
                "The root (%s) of the body (%s) of while must have the shape of its parameter (%s).",
                next,
                body.name(),
                operands.get(0));
        return next;
    }

    /** Of all turns where {@link #turns} knows how many there are, else of one. */
    @Override
    public long flops(List<Shape> operands, Shape result) {
        return Math.max(1, turns()) * (Call.flops(condition) + Call.flops(body));
    }

    /**
     * How often the body runs if the counter starts at 0, as JAX's scans do; -1 if this is not such a loop: the condition compares one
     * element of the state with a constant, {@code i < n}, and the body adds a constant to it.
     */
    public long turns() {
        Instruction more = condition.root();
        boolean less = more.op() instanceof Compare compare && compare.direction() == Compare.Direction.LT;
        if (!less || !(body.root().op() instanceof Tuple)) {
            return -1;
        }
        int counter = element(more.operand(0));
        long limit = number(more.operand(1));
        if (counter < 0 || limit < 0) {
            return -1;
        }
        Instruction next = body.root().operand(counter);
        if (!next.op().equals(new Binary(BinaryKind.ADD))) {
            return -1;
        }
        boolean counterFirst = element(next.operand(0)) == counter;
        long step = number(next.operand(counterFirst ? 1 : 0));
        boolean steps = step > 0 && element(next.operand(counterFirst ? 0 : 1)) == counter;
        return steps ? (limit + step - 1) / step : -1;
    }

    /** Which element of its computation's parameter a value is, or -1. */
    private static int element(Instruction value) {
        return value.op() instanceof GetTupleElement get && value.operand(0).op() instanceof Parameter
                ? get.index()
                : -1;
    }

    /** An integer scalar constant, or -1. */
    private static long number(Instruction value) {
        return value.op() instanceof Constant constant
                        && constant.values() != null
                        && constant.shape().rank() == 0
                        && constant.shape().dtype().isInteger()
                ? constant.values().unpack().asLong(0)
                : -1;
    }

    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        Value state = operands.get(0);
        while (context.call(condition, List.of(state)).literal().asLong(0) != 0) {
            state = context.call(body, List.of(state));
        }
        return state;
    }

    @Override
    public boolean hasSideEffect() {
        return Call.hasSideEffect(body) || Call.hasSideEffect(condition);
    }
}
