package dev.drover.backend.torch.fuse;

import dev.drover.backend.torch.emit.FlatProgram;
import dev.drover.backend.torch.emit.Node;
import dev.drover.backend.torch.emit.Node.Ref;
import dev.drover.ir.ops.Op;
import dev.drover.ir.type.ArrayShape;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Rebuilds a program in which some values come from new nodes. What nobody needs any more is not rebuilt. */
final class Replacer {

    /**
     * A node to be made.
     *
     * @param inputs values of the old program
     */
    record Replacement(int id, String name, Op op, List<Ref> inputs, List<ArrayShape> results) {
        Replacement {
            inputs = List.copyOf(inputs);
            results = List.copyOf(results);
        }

        @Override
        public boolean equals(Object other) {
            return this == other;
        }

        @Override
        public int hashCode() {
            return System.identityHashCode(this);
        }
    }

    private record Source(Replacement replacement, int leaf) {}

    private final Map<Ref, Source> sourceByOld = new HashMap<>();
    private final Map<Object, Node> nodeByUnit = new HashMap<>();

    /** An old value is from now on this leaf of a new node. */
    void replace(Ref old, Replacement replacement, int leaf) {
        sourceByOld.put(old, new Source(replacement, leaf));
    }

    boolean isEmpty() {
        return sourceByOld.isEmpty();
    }

    private Object unit(Ref old) {
        Source source = sourceByOld.get(old);
        return source == null ? old.node() : source.replacement();
    }

    private static List<Ref> inputs(Object unit) {
        return unit instanceof Replacement replacement ? replacement.inputs() : ((Node) unit).inputs();
    }

    FlatProgram apply(FlatProgram program) {
        if (isEmpty()) {
            return program;
        }
        for (List<Ref> leaves : program.parameters()) {
            leaves.forEach(leaf -> nodeByUnit.put(leaf.node(), leaf.node()));
        }
        List<Ref> outputs = new ArrayList<>();
        for (Ref output : program.outputs()) {
            build(unit(output));
            outputs.add(rebuilt(output));
        }
        return new FlatProgram(program.parameters(), outputs);
    }

    private void build(Object root) {
        Deque<Object> stack = new ArrayDeque<>();
        stack.push(root);
        int steps = 0;
        while (!stack.isEmpty()) {
            Object unit = stack.peek();
            if (nodeByUnit.containsKey(unit)) {
                stack.pop();
                continue;
            }
            Object missing = firstMissing(unit);
            if (missing != null) {
                stack.push(missing);
                if (++steps > 10_000_000) {
                    throw new IllegalStateException("The replacements must not depend on themselves.");
                }
                continue;
            }
            stack.pop();
            nodeByUnit.put(unit, make(unit));
        }
    }

    private @Nullable Object firstMissing(Object unit) {
        for (Ref input : inputs(unit)) {
            Object needed = unit(input);
            if (!nodeByUnit.containsKey(needed)) {
                return needed;
            }
        }
        return null;
    }

    private Node make(Object unit) {
        List<Ref> inputs = inputs(unit).stream().map(this::rebuilt).toList();
        if (unit instanceof Replacement replacement) {
            return new Node(replacement.id(), replacement.name(), replacement.op(), inputs, replacement.results());
        }
        Node node = (Node) unit;
        return inputs.equals(node.inputs())
                ? node
                : new Node(node.id(), node.name(), node.op(), inputs, node.results());
    }

    private Ref rebuilt(Ref old) {
        Source source = sourceByOld.get(old);
        Node node = nodeByUnit.get(unit(old));
        if (node == null) {
            throw new IllegalStateException("The value (" + old + ") must be rebuilt before its users.");
        }
        return node.ref(source == null ? old.leaf() : source.leaf());
    }
}
