package dev.drover.ir.ops;

import dev.drover.ir.UserError;
import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.Shape;
import java.util.List;

/**
 * Random numbers from a hidden state: operands are the two parameters of the distribution. What comes out is different on each
 * backend, so there is no reference value: carried, not evaluated.
 *
 * @param distribution {@code rng_uniform} or {@code rng_normal}
 */
public record Rng(String distribution, ArrayShape shape) implements Op {
    static final OpKind KIND = new OpKind(
            "rng", source -> new Rng(source.need("distribution"), source.shape().asArray()));

    @Override
    public String opcode() {
        return "rng";
    }

    @Override
    public void print(OpWriter writer) {
        writer.attribute("distribution", distribution);
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        Check.count(this, operands, 2);
        return shape;
    }

    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        throw new UserError(
                "The op (rng) of instruction (" + self.name() + ") must be one with reproducible values.",
                "Maybe make the random numbers with rng-bit-generator.");
    }

    @Override
    public boolean hasSideEffect() {
        return true;
    }
}
