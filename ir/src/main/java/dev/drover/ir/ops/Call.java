package dev.drover.ir.ops;

import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.Shape;
import java.util.List;

/** Evaluates a computation with the operands as its arguments. Nothing of it is cut: inline first. */
public record Call(Computation computation) implements Op {
    static final OpKind KIND = new OpKind("call", source -> new Call(source.computation("to_apply")));

    @Override
    public String opcode() {
        return "call";
    }

    @Override
    public List<Computation> calls() {
        return List.of(computation);
    }

    @Override
    public Op withCalls(List<Computation> callees) {
        return new Call(callees.get(0));
    }

    @Override
    public void print(OpWriter writer) {
        writer.computation("to_apply", computation);
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        return inferCall(this, computation, operands);
    }

    /** The shape of a computation's root, once its parameters fit. */
    static Shape inferCall(Op op, Computation computation, List<Shape> operands) {
        List<Shape> parameters =
                computation.parameters().stream().map(Instruction::shape).toList();
        Check.that(
                parameters.equals(operands),
                "The operands (%s) of %s must have the shapes of the parameters (%s) of computation (%s).",
                operands,
                op.opcode(),
                parameters,
                computation.name());
        return computation.root().shape();
    }

    @Override
    public long flops(List<Shape> operands, Shape result) {
        return flops(computation);
    }

    /** The sum over a computation's instructions. */
    static long flops(Computation computation) {
        long sum = 0;
        for (Instruction instruction : computation.instructions()) {
            sum += instruction.op().flops(instruction.operandShapes(), instruction.shape());
        }
        return sum;
    }

    /** Whether any instruction of a computation has a side effect. */
    static boolean hasSideEffect(Computation computation) {
        return computation.instructions().stream().anyMatch(i -> i.op().hasSideEffect());
    }

    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        return context.call(computation, operands);
    }

    @Override
    public boolean hasSideEffect() {
        return hasSideEffect(computation);
    }
}
