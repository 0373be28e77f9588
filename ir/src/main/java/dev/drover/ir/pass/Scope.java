package dev.drover.ir.pass;

import dev.drover.ir.graph.ComputationBuilder;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.GetTupleElement;
import dev.drover.ir.ops.Op;
import dev.drover.ir.ops.Tuple;
import dev.drover.ir.type.TupleShape;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;

/** A computation that is being made, with the tuples and elements that it has already. */
final class Scope {
    private final ComputationBuilder builder;
    private final Map<Integer, Map<Integer, Instruction>> elements = new HashMap<>();
    private final IdentityHashMap<Tree.Node, Instruction> tuples = new IdentityHashMap<>();

    Scope(String name) {
        this.builder = new ComputationBuilder(name);
    }

    ComputationBuilder builder() {
        return builder;
    }

    Instruction add(Op op, List<Instruction> operands, String name, Map<String, String> annotations) {
        return builder.add(op, operands, name, annotations);
    }

    /** An element of a tuple. */
    Tree element(Tree tuple, int index, String name, Map<String, String> annotations) {
        if (tuple instanceof Tree.Node node) {
            return node.elements().get(index);
        }
        Instruction whole = ((Tree.Leaf) tuple).instruction();
        return new Tree.Leaf(elements.computeIfAbsent(whole.id(), id -> new HashMap<>())
                .computeIfAbsent(index, i -> builder.add(new GetTupleElement(i), List.of(whole), name, annotations)));
    }

    /** The value as one instruction; a tuple is made if need be. */
    Instruction instruction(Tree value, String name) {
        if (value instanceof Tree.Leaf leaf) {
            return leaf.instruction();
        }
        Tree.Node node = (Tree.Node) value;
        Instruction known = tuples.get(node);
        if (known != null) {
            return known;
        }
        List<Instruction> parts = new ArrayList<>(node.elements().size());
        for (int i = 0; i < node.elements().size(); i++) {
            parts.add(instruction(node.elements().get(i), name + "." + i));
        }
        Instruction made = builder.add(new Tuple(parts.size()), parts, name, Map.of());
        tuples.put(node, made);
        return made;
    }

    /** The array leaves of a value, in depth-first order. */
    List<Instruction> leaves(Tree value) {
        List<Instruction> out = new ArrayList<>();
        collect(value, out);
        return out;
    }

    private void collect(Tree value, List<Instruction> out) {
        if (value instanceof Tree.Node node) {
            node.elements().forEach(element -> collect(element, out));
            return;
        }
        Instruction instruction = ((Tree.Leaf) value).instruction();
        if (instruction.shape() instanceof TupleShape tuple) {
            for (int i = 0; i < tuple.elements().size(); i++) {
                collect(element(value, i, instruction.name() + "." + i, Map.of()), out);
            }
        } else {
            out.add(instruction);
        }
    }
}
