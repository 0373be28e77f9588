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

/** The same elements in row-major order under other dims: what reshape and bitcast have in common. */
public sealed interface RowMajorView extends Op permits Bitcast, Reshape {

    /** The result's dims. */
    List<Long> sizes();

    /** The same op with another result. */
    RowMajorView withSizes(List<Long> sizes);

    @Override
    default Shape inferShape(List<Shape> operands) {
        ArrayShape operand = Check.onlyArray(this, operands);
        ArrayShape result = operand.withDims(Dims.array(sizes()));
        Check.that(
                result.elements() == operand.elements(),
                "The result (%s) of %s must have as many elements as its operand (%s).",
                result,
                opcode(),
                operand);
        return result;
    }

    @Override
    default FactorRule factors(List<Shape> operands, Shape result) {
        return ReshapeFactors.rule(operands.get(0).asArray(), result.asArray());
    }

    @Override
    default List<Set<Integer>> linearGroups() {
        return List.of(Set.of(0));
    }

    @Override
    default boolean isView() {
        return true;
    }

    @Override
    default Value evaluate(EvalContext context, Instruction self, List<Value> operands) {
        return operands.get(0).literal().withShape(self.array());
    }

    @Override
    default List<@Nullable Instruction> vjp(
            VjpContext context, Instruction self, List<@Nullable Instruction> cotangents) {
        Instruction cotangent = cotangents.get(0);
        return Collections.singletonList(
                cotangent == null
                        ? null
                        : context.build()
                                .reshape(cotangent, self.operand(0).array().dims()));
    }

    @Override
    default Instruction localize(Localizer local) {
        return local.builder().add(withSizes(Dims.list(local.localResult())), local.operands());
    }
}
