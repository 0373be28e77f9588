package dev.drover.backend.torch.emit;

import dev.drover.backend.torch.emit.Node.Ref;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.GetTupleElement;
import dev.drover.ir.ops.Op;
import dev.drover.ir.ops.Parameter;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.Shape;
import dev.drover.ir.type.TupleShape;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Set;

/**
 * A computation without calls and tuples. Programs of {@code while} and {@code conditional} stay in their ops and are flattened
 * when those are emitted.
 *
 * @param parameters for each parameter its leaves
 * @param outputs the root's leaves
 */
public record FlatProgram(List<List<Ref>> parameters, List<Ref> outputs) {
    private static final Set<String> IDENTITIES =
            Set.of("copy", "optimization-barrier", "add-dependency", "domain", "copy-start", "copy-done");

    public FlatProgram {
        parameters = List.copyOf(parameters);
        outputs = List.copyOf(outputs);
    }

    /** Flattens a computation, inlining what it calls. */
    public static FlatProgram of(Computation computation) {
        Builder builder = new Builder();
        List<List<Ref>> parameters = new ArrayList<>();
        for (Instruction parameter : computation.parameters()) {
            List<ArrayShape> leaves = parameter.shape().leaves();
            parameters.add(refs(builder.add(parameter.name(), parameter.op(), List.of(), leaves)));
        }
        return new FlatProgram(parameters, builder.inline(computation, parameters));
    }

    private static List<Ref> refs(Node node) {
        List<Ref> refs = new ArrayList<>();
        for (int i = 0; i < node.results().size(); i++) {
            refs.add(node.ref(i));
        }
        return refs;
    }

    /** Makes nodes. */
    private static final class Builder {
        private int next;

        Node add(String name, Op op, List<Ref> inputs, List<ArrayShape> results) {
            return new Node(next++, name, op, inputs, results);
        }

        List<Ref> inline(Computation computation, List<List<Ref>> arguments) {
            Map<Instruction, List<Ref>> refsByInstruction = new HashMap<>();
            for (Instruction instruction : computation.instructions()) {
                refsByInstruction.put(instruction, convert(instruction, arguments, refsByInstruction));
            }
            return lookUp(refsByInstruction, computation.root());
        }

        private List<Ref> convert(
                Instruction instruction, List<List<Ref>> arguments, Map<Instruction, List<Ref>> refsByInstruction) {
            Op op = instruction.op();
            if (op instanceof Parameter parameter) {
                return arguments.get(parameter.number());
            }
            List<List<Ref>> operands = new ArrayList<>();
            List<Ref> inputs = new ArrayList<>();
            for (Instruction operand : instruction.operands()) {
                List<Ref> refs = lookUp(refsByInstruction, operand);
                operands.add(refs);
                inputs.addAll(refs);
            }
            if (op.opcode().equals("tuple")) {
                return inputs;
            }
            if (op instanceof GetTupleElement element) {
                return element(instruction.operand(0), operands.get(0), element.index());
            }
            if (op.opcode().equals("call") || op.opcode().equals("fusion")) {
                return inline(op.calls().get(0), operands);
            }
            if (IDENTITIES.contains(op.opcode())) {
                return inputs.subList(0, instruction.shape().leaves().size());
            }
            return refs(add(instruction.name(), op, inputs, instruction.shape().leaves()));
        }

        private static List<Ref> element(Instruction tuple, List<Ref> refs, int index) {
            List<Shape> elements = ((TupleShape) tuple.shape()).elements();
            int from = 0;
            for (int i = 0; i < index; i++) {
                from += elements.get(i).leaves().size();
            }
            return refs.subList(from, from + elements.get(index).leaves().size());
        }

        private static List<Ref> lookUp(Map<Instruction, List<Ref>> refsByInstruction, Instruction instruction) {
            List<Ref> refs = refsByInstruction.get(instruction);
            if (refs == null) {
                throw new IllegalStateException(
                        "The value of (" + instruction.name() + ") must be made before its use.");
            }
            return refs;
        }
    }

    /**
     * What the outputs need, operands first and else in the order of the ids. Nodes are found through inputs alone, so what nobody
     * needs is gone.
     */
    public List<Node> order() {
        IdentityHashMap<Node, Integer> numberByNode = new IdentityHashMap<>();
        List<Node> nodes = new ArrayList<>();
        for (Ref output : outputs) {
            if (numberByNode.putIfAbsent(output.node(), nodes.size()) == null) {
                nodes.add(output.node());
            }
        }
        boolean byId = true;
        for (int i = 0; i < nodes.size(); i++) {
            Node node = nodes.get(i);
            for (Ref input : node.inputs()) {
                byId &= input.node().id() < node.id();
                if (numberByNode.putIfAbsent(input.node(), nodes.size()) == null) {
                    nodes.add(input.node());
                }
            }
        }
        if (byId) {
            nodes.sort(Comparator.comparingInt(Node::id));
            return nodes;
        }
        return leastFirst(nodes, numberByNode);
    }

    /** Of the nodes whose inputs are there the one with the least id, until all are there. */
    private static List<Node> leastFirst(List<Node> nodes, IdentityHashMap<Node, Integer> numberByNode) {
        int[] waiting = new int[nodes.size()];
        List<List<Node>> usersByNumber = new ArrayList<>();
        PriorityQueue<Node> ready = new PriorityQueue<>(Comparator.comparingInt(Node::id));
        nodes.forEach(node -> usersByNumber.add(new ArrayList<>()));
        for (int number = 0; number < waiting.length; number++) {
            Node node = nodes.get(number);
            Set<Node> inputs = new HashSet<>();
            node.inputs().forEach(input -> inputs.add(input.node()));
            inputs.forEach(input ->
                    usersByNumber.get(numberByNode.getOrDefault(input, -1)).add(node));
            waiting[number] = inputs.size();
            if (inputs.isEmpty()) {
                ready.add(node);
            }
        }
        List<Node> order = new ArrayList<>(waiting.length);
        while (!ready.isEmpty()) {
            Node node = ready.poll();
            order.add(node);
            for (Node user : usersByNumber.get(numberByNode.getOrDefault(node, -1))) {
                if (--waiting[numberByNode.getOrDefault(user, -1)] == 0) {
                    ready.add(user);
                }
            }
        }
        if (order.size() != waiting.length) {
            throw new IllegalStateException("The program's nodes must not depend on themselves.");
        }
        return order;
    }
}
