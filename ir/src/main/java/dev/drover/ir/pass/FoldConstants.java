package dev.drover.ir.pass;

import dev.drover.ir.eval.Literal;
import dev.drover.ir.graph.Graph;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.Constant;
import dev.drover.ir.ops.Op;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Computes index arithmetic ahead: ops on constants that yield at most {@value Known#MAX_ELEMENTS} integers or predicates. Slices at
 * positions that are then constant become {@code slice}, and a slice of what was just written there becomes what was written.
 */
public final class FoldConstants {
    private FoldConstants() {}

    public static Graph run(Graph graph) {
        return new Rewriter() {
            @Override
            Tree make(Scope scope, Op op, List<Instruction> operands, String name, Map<String, String> annotations) {
                return folded(scope, op, operands, name, annotations);
            }
        }.run(graph);
    }

    /** The op's result, by a constant or by something simpler if there is one. */
    static Tree folded(Scope scope, Op op, List<Instruction> operands, String name, Map<String, String> annotations) {
        Instruction slice = StaticSlices.simplified(scope, op, operands, name, annotations);
        if (slice != null) {
            return new Tree.Leaf(slice);
        }
        Instruction made = scope.add(op, operands, name, annotations);
        Literal value = value(made);
        return new Tree.Leaf(
                value == null ? made : scope.add(Constant.of(value), List.of(), name + ".folded", Map.of()));
    }

    private static @Nullable Literal value(Instruction instruction) {
        if (instruction.operands().isEmpty() || !Known.follows(instruction.shape())) {
            return null;
        }
        List<Literal> operands = new ArrayList<>();
        for (Instruction operand : instruction.operands()) {
            Literal known = Known.constant(operand);
            if (known == null) {
                return null;
            }
            operands.add(known);
        }
        return Known.fold(instruction, operands);
    }
}
