package dev.drover.ir.ops;

import dev.drover.ir.UserError;
import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.ir.type.Shape;
import java.util.List;

/** Reads a backend's hidden random state, a {@code u64[2]}, and moves it on by {@code delta}. Carried, not evaluated. */
public record RngGetAndUpdateState(long delta) implements Op {
    static final OpKind KIND =
            new OpKind("rng-get-and-update-state", source -> new RngGetAndUpdateState(source.number("delta", 0)));

    @Override
    public String opcode() {
        return "rng-get-and-update-state";
    }

    @Override
    public void print(OpWriter writer) {
        writer.attribute("delta", Long.toString(delta));
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        Check.count(this, operands, 0);
        return ArrayShape.of(DType.U64, 2);
    }

    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        throw new UserError("The op (rng-get-and-update-state) of instruction (" + self.name()
                + ") must be one with reproducible values.");
    }

    @Override
    public boolean hasSideEffect() {
        return true;
    }
}
