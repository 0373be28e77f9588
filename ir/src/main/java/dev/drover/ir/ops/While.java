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

    /** Of one turn: how many there are is not known here. */
    @Override
    public long flops(List<Shape> operands, Shape result) {
        return Call.flops(condition) + Call.flops(body);
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
