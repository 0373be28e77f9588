package dev.drover.plan.sharding;

import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.GetTupleElement;
import dev.drover.ir.ops.Tuple;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.TupleShape;
import java.util.ArrayList;
import java.util.List;

/**
 * Where an array value is made, seen through {@code tuple} and {@code get-tuple-element}, which compute nothing and have no strategy
 * of their own: a loop that stays in the program takes a tuple, whose elements are sharded each by itself.
 *
 * @param producer computes something
 * @param leaf of its result
 */
public record Source(Instruction producer, int leaf) {

    /** Of a value that is an array. */
    public static Source of(Instruction value) {
        return ofLeaves(value).get(0);
    }

    /** Of each leaf of a value, in order. */
    public static List<Source> ofLeaves(Instruction value) {
        List<Source> out = new ArrayList<>();
        if (value.op() instanceof Tuple) {
            value.operands().forEach(element -> out.addAll(ofLeaves(element)));
            return out;
        }
        if (value.op() instanceof GetTupleElement element) {
            Instruction tuple = value.operand(0);
            int first = 0;
            for (int i = 0; i < element.index(); i++) {
                first += ((TupleShape) tuple.shape()).elements().get(i).leaves().size();
            }
            return ofLeaves(tuple).subList(first, first + value.shape().leaves().size());
        }
        for (int leaf = 0; leaf < value.shape().leaves().size(); leaf++) {
            out.add(new Source(value, leaf));
        }
        return out;
    }

    /** Of each leaf of an instruction's operands, in order: as its rule counts them. */
    public static List<Source> ofOperands(Instruction user) {
        List<Source> out = new ArrayList<>();
        user.operands().forEach(operand -> out.addAll(ofLeaves(operand)));
        return out;
    }

    /** Whether an instruction only names parts of other values. */
    public static boolean isWiring(Instruction instruction) {
        return instruction.op() instanceof Tuple || instruction.op() instanceof GetTupleElement;
    }

    public ArrayShape shape() {
        return producer.shape().leaves().get(leaf);
    }
}
