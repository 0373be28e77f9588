package dev.drover.ir.ops;

import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.Shape;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The same elements in row-major order under other dims.
 *
 * @param sizes the result's dims
 */
public record Reshape(List<Long> sizes) implements Op {
    static final OpKind KIND =
            new OpKind("reshape", source -> new Reshape(Dims.list(source.shape().asArray())));

    public Reshape {
        sizes = List.copyOf(sizes);
    }

    @Override
    public String opcode() {
        return "reshape";
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        return inferShape(this, operands, sizes);
    }

    static ArrayShape inferShape(Op op, List<Shape> operands, List<Long> sizes) {
        ArrayShape operand = Check.onlyArray(op, operands);
        ArrayShape result = operand.withDims(Dims.array(sizes));
        Check.that(
                result.elements() == operand.elements(),
                "The result (%s) of %s must have as many elements as its operand (%s).",
                result,
                op.opcode(),
                operand);
        return result;
    }

    @Override
    public FactorRule factors(List<Shape> operands, Shape result) {
        return ReshapeFactors.rule(operands.get(0).asArray(), result.asArray());
    }

    @Override
    public List<Set<Integer>> linearGroups() {
        return List.of(Set.of(0));
    }

    @Override
    public boolean isView() {
        return true;
    }

    @Override
    public Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        return operands.get(0).literal().withShape(self.array());
    }

    @Override
    public List<@Nullable Instruction> vjp(
            VjpContext context, Instruction self, List<@Nullable Instruction> cotangents) {
        Instruction cotangent = cotangents.get(0);
        return Collections.singletonList(
                cotangent == null
                        ? null
                        : context.build()
                                .reshape(cotangent, self.operand(0).array().dims()));
    }

    @Override
    public Instruction localize(Localizer local) {
        return local.builder().add(new Reshape(Dims.list(local.localResult())), local.operands());
    }
}
