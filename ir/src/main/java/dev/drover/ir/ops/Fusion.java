package dev.drover.ir.ops;

import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.Shape;
import java.util.List;

/**
 * A computation that a compiler makes one kernel of; the meaning is that of {@link Call}.
 *
 * @param kind {@code kLoop}, {@code kInput}, {@code kOutput} or {@code kCustom}
 */
public record Fusion(String kind, Computation computation) implements Op {
    static final OpKind KIND =
            new OpKind("fusion", source -> new Fusion(source.need("kind"), source.computation("calls")));

    @Override
    public String opcode() {
        return "fusion";
    }

    @Override
    public List<Computation> calls() {
        return List.of(computation);
    }

    @Override
    public Op withCalls(List<Computation> callees) {
        return new Fusion(kind, callees.get(0));
    }

    @Override
    public void print(OpWriter writer) {
        writer.attribute("kind", kind);
        writer.computation("calls", computation);
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        return Call.inferCall(this, computation, operands);
    }

    @Override
    public long flops(List<Shape> operands, Shape result) {
        return Call.flops(computation);
    }

    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        return context.call(computation, operands);
    }

    @Override
    public boolean hasSideEffect() {
        return Call.hasSideEffect(computation);
    }
}
