package dev.drover.ir.ops;

import dev.drover.ir.eval.EvalContext;
import dev.drover.ir.eval.Value;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.Shape;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The same bytes under other dims. Shapes have no layouts here: both sides are row-major, so this is a reshape. The reader
 * of a file must refuse a bitcast whose layouts say otherwise.
 *
 * @param sizes the result's dims
 */
public record Bitcast(List<Long> sizes) implements Op {
    static final OpKind KIND =
            new OpKind("bitcast", source -> new Bitcast(Dims.list(source.shape().asArray())));

    public Bitcast {
        sizes = List.copyOf(sizes);
    }

    @Override
    public String opcode() {
        return "bitcast";
    }

    @Override
    public Shape inferShape(List<Shape> operands) {
        return Reshape.inferShape(this, operands, sizes);
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
        return local.builder().add(new Bitcast(Dims.list(local.localResult())), local.operands());
    }
}
