package dev.drover.ir.ops;

import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.ir.type.Shape;
import java.util.List;

/** Which replica this is, a {@code u32[]}: always 0, as devices are partitions ({@link PartitionId}) of one replica. */
public record ReplicaId() implements Op {
    static final OpKind KIND = new OpKind("replica-id", source -> new ReplicaId());

    @Override
    public String opcode() {
        return "replica-id";
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        Check.count(this, operands, 0);
        return ArrayShape.scalar(DType.U32);
    }

    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        return Literal.scalar(DType.U32, 0);
    }
}
