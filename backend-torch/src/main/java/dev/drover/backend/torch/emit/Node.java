package dev.drover.backend.torch.emit;

import dev.drover.ir.ops.Op;
import dev.drover.ir.type.ArrayShape;
import java.util.List;

/**
 * One op of a flattened program. Tuples are gone: a node has any number of array results, and its inputs are results of other
 * nodes.
 *
 * @param id order in the source; a node that replaces others takes the id of the last of them
 * @param name the instruction's name, for messages
 * @param results shapes by leaf
 */
public record Node(int id, String name, Op op, List<Ref> inputs, List<ArrayShape> results) {

    /** A result of a node. */
    public record Ref(Node node, int leaf) {
        public ArrayShape shape() {
            return node.results.get(leaf);
        }

        public Op op() {
            return node.op;
        }

        public Ref input(int index) {
            return node.inputs.get(index);
        }

        @Override
        public String toString() {
            return node.name + (node.results.size() == 1 ? "" : "#" + leaf);
        }
    }

    public Node {
        inputs = List.copyOf(inputs);
        results = List.copyOf(results);
    }

    public Ref ref() {
        return new Ref(this, 0);
    }

    public Ref ref(int leaf) {
        return new Ref(this, leaf);
    }

    public Ref input(int index) {
        return inputs.get(index);
    }

    /** The shape of a node with one result. */
    public ArrayShape shape() {
        return results.get(0);
    }

    @Override
    public boolean equals(Object other) {
        return this == other;
    }

    @Override
    public int hashCode() {
        return System.identityHashCode(this);
    }

    @Override
    public String toString() {
        return name + " = " + results + " " + op.opcode() + inputs;
    }
}
