package dev.drover.ir.ops;

import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.ir.type.Shape;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** {@code p[i] ? x[i] : y[i]}; {@code p} has the dims of the others or is a scalar. */
public record Select() implements Op {
    static final OpKind KIND = new OpKind("select", source -> new Select());

    @Override
    public String opcode() {
        return "select";
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        Check.count(this, operands, 3);
        ArrayShape predicate = Check.array(this, operands, 0);
        ArrayShape onTrue = Check.array(this, operands, 1);
        ArrayShape onFalse = Check.array(this, operands, 2);
        Check.that(
                onTrue.equals(onFalse),
                "The shapes (%s and %s) of operands 1 and 2 of select must be equal.",
                onTrue,
                onFalse);
        Check.that(
                predicate.dtype() == DType.PRED && (predicate.rank() == 0 || Check.sameDims(predicate, onTrue)),
                "The operand 0 (%s) of select must be a pred with the dims of %s or a scalar pred.",
                predicate,
                onTrue);
        return onTrue;
    }

    @Override
    public FactorRule factors(List<Shape> operands, Shape result) {
        return Elementwise.factors(operands, result);
    }

    @Override
    public List<Set<Integer>> linearGroups() {
        return List.of(Set.of(1, 2));
    }

    @Override
    public long flops(List<Shape> operands, Shape result) {
        return result.asArray().elements();
    }

    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        Literal predicate = operands.get(0).literal();
        Literal onTrue = operands.get(1).literal();
        Literal onFalse = operands.get(2).literal();
        if (predicate.shape().rank() == 0) {
            return predicate.longs()[0] != 0 ? onTrue : onFalse;
        }
        Literal out = Literal.zeros(self.array());
        long[] p = predicate.longs();
        for (int i = 0; i < p.length; i++) {
            out.copyElement(p[i] != 0 ? onTrue : onFalse, i, i);
        }
        return out;
    }

    @Override
    public List<@Nullable Instruction> vjp(
            VjpContext context, Instruction self, List<@Nullable Instruction> cotangents) {
        Instruction cotangent = cotangents.get(0);
        if (cotangent == null) {
            return Arrays.asList(null, null, null);
        }
        OpBuilder b = context.build();
        Instruction zeros = b.zerosLike(cotangent);
        Instruction predicate = self.operand(0);
        return Arrays.asList(null, b.select(predicate, cotangent, zeros), b.select(predicate, zeros, cotangent));
    }
}
