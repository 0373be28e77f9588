package dev.drover.backend.torch.fuse;

import dev.drover.backend.torch.emit.FlatProgram;
import dev.drover.backend.torch.emit.Node;
import dev.drover.backend.torch.emit.Node.Ref;
import dev.drover.backend.torch.kernel.Chain;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Joins neighbouring elementwise f32 ops of the same dims to one {@link Chain}, such as an optimizer's update:
 *
 * <pre>
 *   m' = add(mul(m, b1), mul(g, c1))                       (m', v', p') = chain(p, g, m, v, ..)
 *   v' = add(mul(v, b2), mul(mul(g, g), c2))         =>
 *   p' = sub(p, mul(div(m', add(sqrt(v'), e)), r))
 * </pre>
 *
 * Two groups are joined only if no path leads from one to the other through a third, so that no cycle arises.
 */
final class Chains {
    /** Below, a call of libtorch is cheaper than a loop of Java's. */
    private static final long SMALLEST = 1 << 13;

    private static final int LONGEST = 64;
    private static final int MOST_INPUTS = 24;

    /** Nodes that become one, and their first and last position in the program; a node in no chain is a group of its own. */
    private static final class Group {
        private final List<Node> members = new ArrayList<>();
        private int first = Integer.MAX_VALUE;
        private int last = -1;

        void add(Node node, int position) {
            members.add(node);
            first = Math.min(first, position);
            last = Math.max(last, position);
        }
    }

    private final FlatProgram program;
    private final List<Node> order;
    private final Map<Node, Group> groupByNode = new HashMap<>();
    private final Map<Node, List<Node>> users = new HashMap<>();

    /** By position: the last position of groups that begin there or before. */
    private final int[] lastOfEarlier;

    private Chains(FlatProgram program) {
        this.program = program;
        this.order = program.order();
        this.lastOfEarlier = new int[order.size()];
        for (int i = 0; i < lastOfEarlier.length; i++) {
            lastOfEarlier[i] = i;
        }
    }

    static FlatProgram apply(FlatProgram program) {
        return new Chains(program).run();
    }

    private FlatProgram run() {
        for (Node node : order) {
            Group group = new Group();
            group.add(node, groupByNode.size());
            groupByNode.put(node, group);
            for (Ref input : node.inputs()) {
                users.computeIfAbsent(input.node(), n -> new ArrayList<>()).add(node);
            }
        }
        for (Node node : order) {
            if (!takes(node)) {
                continue;
            }
            Set<Ref> inputs = new LinkedHashSet<>(node.inputs());
            for (Ref input : inputs) {
                if (takes(input.node()) && input.shape().equals(node.shape())) {
                    join(group(input.node()), group(node));
                }
            }
        }
        joinSiblings();
        Replacer replacer = new Replacer();
        Set<Group> done = new HashSet<>();
        for (Node node : order) {
            Group group = group(node);
            boolean chain = group.members.size() > 1
                    || (takes(node) && Chain.takesAlone(node.op().opcode()));
            if (chain && done.add(group)) {
                replace(group, replacer);
            }
        }
        return replacer.apply(program);
    }

    private Group group(Node node) {
        Group group = groupByNode.get(node);
        if (group == null) {
            throw new IllegalStateException("The node (" + node.name() + ") must be in a group.");
        }
        return group;
    }

    private static boolean takes(Node node) {
        ArrayShape shape = node.shape();
        return Chain.takes(node.op().opcode())
                && node.results().size() == 1
                && shape.dtype() == DType.F32
                && shape.elements() >= SMALLEST
                && shape.elements() < Integer.MAX_VALUE;
    }

    /** Groups of the same dims that read the same value, such as the halves of an update that only share the gradient. */
    private void joinSiblings() {
        for (Node node : order) {
            List<Node> readers = users.getOrDefault(node, List.of());
            Map<ArrayShape, Group> firstByShape = new LinkedHashMap<>();
            for (Node reader : readers) {
                if (takes(reader)
                        && node.results().size() == 1
                        && reader.shape().equals(node.shape())) {
                    Group first = firstByShape.putIfAbsent(reader.shape(), group(reader));
                    if (first != null && first != group(reader)) {
                        join(group(first.members.get(0)), group(reader));
                    }
                }
            }
        }
    }

    private void join(Group one, Group other) {
        if (one == other
                || one.members.size() + other.members.size() > LONGEST
                || externalInputs(one, other) > MOST_INPUTS
                || path(one, other)
                || path(other, one)) {
            return;
        }
        Group larger = one.members.size() >= other.members.size() ? one : other;
        Group smaller = larger == one ? other : one;
        larger.members.addAll(smaller.members);
        larger.first = Math.min(larger.first, smaller.first);
        larger.last = Math.max(larger.last, smaller.last);
        smaller.members.forEach(node -> groupByNode.put(node, larger));
        for (int i = larger.first; i < larger.last && lastOfEarlier[i] < larger.last; i++) {
            lastOfEarlier[i] = larger.last;
        }
    }

    private int externalInputs(Group one, Group other) {
        Set<Ref> inputs = new HashSet<>();
        for (Group group : List.of(one, other)) {
            for (Node member : group.members) {
                for (Ref input : member.inputs()) {
                    Group source = group(input.node());
                    if (source != one && source != other) {
                        inputs.add(input);
                    }
                }
            }
        }
        return inputs.size();
    }

    /** Whether a path leads from one group to another through a third. */
    private boolean path(Group from, Group to) {
        int bound = bound(to);
        Set<Group> seen = new HashSet<>(Set.of(from));
        Deque<Group> queue = new ArrayDeque<>();
        for (Group next : successors(from)) {
            if (next != to && next.first <= bound && seen.add(next)) {
                queue.add(next);
            }
        }
        while (!queue.isEmpty()) {
            for (Group next : successors(queue.poll())) {
                if (next == to) {
                    return true;
                }
                if (next.first <= bound && seen.add(next)) {
                    queue.add(next);
                }
            }
        }
        return false;
    }

    /**
     * No path to a group leads through a group that begins after this position: a path goes back in the program only through a
     * group that has members on both sides.
     */
    private int bound(Group to) {
        int bound = to.last;
        while (lastOfEarlier[bound] > bound) {
            bound = lastOfEarlier[bound];
        }
        return bound;
    }

    private Set<Group> successors(Group group) {
        Set<Group> out = new LinkedHashSet<>();
        for (Node member : group.members) {
            for (Node user : users.getOrDefault(member, List.of())) {
                Group next = group(user);
                if (next != group) {
                    out.add(next);
                }
            }
        }
        return out;
    }

    private void replace(Group group, Replacer replacer) {
        List<Node> members = new ArrayList<>(group.members);
        members.sort((a, b) -> Integer.compare(a.id(), b.id()));
        Set<Node> inside = new HashSet<>(members);
        List<Ref> inputs = new ArrayList<>();
        for (Node member : members) {
            for (Ref input : member.inputs()) {
                if (!inside.contains(input.node()) && !inputs.contains(input)) {
                    inputs.add(input);
                }
            }
        }
        List<String> opcodes = new ArrayList<>();
        List<Integer> left = new ArrayList<>();
        List<Integer> right = new ArrayList<>();
        List<Integer> outputs = new ArrayList<>();
        List<ArrayShape> shapes = new ArrayList<>();
        Map<Node, Integer> stepByNode = new HashMap<>();
        Set<Ref> wanted = new HashSet<>(program.outputs());
        Node last = members.get(members.size() - 1);
        for (Node member : members) {
            stepByNode.put(member, opcodes.size());
            left.add(operand(member.input(0), inputs, stepByNode));
            right.add(operand(member.input(member.inputs().size() - 1), inputs, stepByNode));
            boolean leaves = wanted.contains(member.ref())
                    || users.getOrDefault(member, List.of()).stream().anyMatch(user -> !inside.contains(user));
            if (leaves) {
                outputs.add(opcodes.size());
                shapes.add(member.shape());
            }
            opcodes.add(member.op().opcode());
        }
        Replacer.Replacement chain = new Replacer.Replacement(
                last.id(), last.name(), new Chain(opcodes, left, right, outputs, inputs.size()), inputs, shapes);
        for (int i = 0; i < outputs.size(); i++) {
            replacer.replace(members.get(outputs.get(i)).ref(), chain, i);
        }
    }

    private static int operand(Ref input, List<Ref> inputs, Map<Node, Integer> stepByNode) {
        @Nullable Integer step = stepByNode.get(input.node());
        return step == null ? inputs.indexOf(input) : inputs.size() + step;
    }
}
