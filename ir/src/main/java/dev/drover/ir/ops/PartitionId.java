package dev.drover.ir.ops;

import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.ir.type.Shape;
import java.util.List;

/** Which device this is, a {@code u32[]}: all devices run one program, and each is a partition of its only replica. */
public record PartitionId() implements Op {
    static final OpKind KIND = new OpKind("partition-id", source -> new PartitionId());

    @Override
    public String opcode() {
        return "partition-id";
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        Check.count(this, operands, 0);
        return ArrayShape.scalar(DType.U32);
    }

    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        return Literal.scalar(DType.U32, context.device());
    }
}
