package dev.drover.report;

import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.Convolution;
import dev.drover.ir.ops.Dot;
import dev.drover.ir.ops.Gather;
import dev.drover.plan.stage.Phase;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * The heavy operations of one phase of a step, and which of them read from which, directly or through light ones. Rows of
 * operations are ordered by depth; a block of rows that comes again and again (a layer of the model) is listed once, and so
 * are many equal operations of a row that have the same neighbours (such as what each layer reads beside the layer before).
 *
 * @param nodes in order of the program
 * @param edges pairs of positions in {@code nodes}, both in {@code rows}; those that follow from others are left out
 * @param rows positions in {@code nodes} by depth and stage, repeated ones left out
 * @param blocks runs of equal blocks, the first of which is in {@code rows}
 * @param timesByNode for how many equal ones of its row a node stands, where it does
 * @param leftOut operations that are too many to be shown
 */
record GraphOutline(
        List<Node> nodes,
        List<Edge> edges,
        List<List<Integer>> rows,
        List<Block> blocks,
        Map<Integer, Integer> timesByNode,
        int leftOut) {
    /** Reachability among more would cost more than the rest of the page. */
    private static final int MOST_NODES = 3000;

    /** Rows of the longest block that is looked for. */
    private static final int MOST_BLOCK_ROWS = 64;

    /** Equal operations of a row with the same neighbours that are told apart: the three projections of an attention are. */
    private static final int MOST_ALIKE = 3;

    /** An operation; {@code sharding} is that of its result. */
    record Node(Instruction instruction, int stage, String sharding) {
        /** The same for operations that need not be told apart. */
        String kind() {
            return stage + " " + instruction.op().opcode() + " " + instruction.shape() + " " + sharding;
        }
    }

    /** {@code to} reads what {@code from} makes. */
    record Edge(int from, int to) {}

    /** {@code rows[first .. first + size)} stand for {@code times} such blocks. */
    record Block(int first, int size, int times) {}

    /** The outline of one phase. */
    static GraphOutline of(PlacedStep placed, Phase phase) {
        List<Instruction> heavy = placed.cut().computation().instructions().stream()
                .filter(i -> placed.assignment().phase(i.id()) == phase)
                .filter(i -> i.op() instanceof Dot || i.op() instanceof Convolution || i.op() instanceof Gather)
                .toList();
        List<Instruction> shown = heavy.stream()
                .sorted(Comparator.comparingDouble(GraphOutline::flops).reversed())
                .limit(MOST_NODES)
                .sorted(Comparator.comparingInt(Instruction::id))
                .toList();
        List<Node> nodes = shown.stream()
                .map(i -> new Node(
                        i, placed.assignment().stage(i.id()), placed.sharding(i).text(placed.mesh())))
                .toList();
        return new Outliner(placed, nodes).outline(heavy.size() - shown.size());
    }

    private static double flops(Instruction instruction) {
        return instruction.op().flops(instruction.operandShapes(), instruction.shape());
    }

    /** Works out who reads from whom, and what repeats. */
    private static final class Outliner {
        private final List<Node> nodes;
        private final List<Edge> edges = new ArrayList<>();
        private final int[] depth;

        Outliner(PlacedStep placed, List<Node> nodes) {
            this.nodes = nodes;
            this.depth = new int[nodes.size()];
            connect(placed.cut().computation().instructions());
        }

        /** Edges without those that a longer path implies, and the depth of each node. */
        private void connect(List<Instruction> program) {
            int[] nodeById = new int[program.size()];
            Arrays.fill(nodeById, -1);
            IntStream.range(0, nodes.size())
                    .forEach(n -> nodeById[nodes.get(n).instruction().id()] = n);
            // By instruction: the nearest nodes before it. A node stands for all that is before it.
            List<BitSet> nearest = new ArrayList<>();
            List<BitSet> ancestors = new ArrayList<>();
            for (Instruction self : program) {
                BitSet near = new BitSet();
                self.operands().forEach(operand -> near.or(nearest.get(operand.id())));
                drop(near, ancestors);
                int node = nodeById[self.id()];
                if (node < 0) {
                    nearest.add(near);
                    continue;
                }
                BitSet before = (BitSet) near.clone();
                near.stream().forEach(from -> {
                    edges.add(new Edge(from, node));
                    before.or(ancestors.get(from));
                    depth[node] = Math.max(depth[node], depth[from] + 1);
                });
                ancestors.add(before);
                BitSet only = new BitSet();
                only.set(node);
                nearest.add(only);
            }
        }

        /** Leaves only the nodes that no other one of them reads from. */
        private static void drop(BitSet near, List<BitSet> ancestors) {
            if (near.cardinality() > 1) {
                BitSet all = (BitSet) near.clone();
                all.stream().forEach(node -> near.andNot(ancestors.get(node)));
            }
        }

        GraphOutline outline(int leftOut) {
            List<List<Integer>> rows = rows();
            List<String> kinds = rows.stream()
                    .map(row -> row.stream()
                            .map(n -> nodes.get(n).kind())
                            .sorted()
                            .toList()
                            .toString())
                    .toList();
            List<List<Integer>> kept = new ArrayList<>();
            List<Block> blocks = new ArrayList<>();
            int[] standIn = IntStream.range(0, nodes.size()).toArray();
            int at = 0;
            while (at < rows.size()) {
                Block best = block(kinds, at);
                if (best.times() > 1) {
                    blocks.add(new Block(kept.size(), best.size(), best.times()));
                }
                kept.addAll(rows.subList(at, at + best.size()));
                for (int i = best.size(); i < best.size() * best.times(); i++) {
                    List<Integer> first = rows.get(at + i % best.size());
                    List<Integer> copy = rows.get(at + i);
                    IntStream.range(0, copy.size()).forEach(n -> standIn[copy.get(n)] = first.get(n));
                }
                at += best.size() * best.times();
            }
            Map<Integer, Integer> timesByNode = standForAlike(kept, standIn);
            List<List<Integer>> shown = kept.stream()
                    .map(row -> row.stream().filter(n -> standIn[n] == n).toList())
                    .toList();
            return new GraphOutline(nodes, shownEdges(standIn), shown, blocks, timesByNode, leftOut);
        }

        /** Lets the first of many equal nodes of a row stand for all of them, and counts them. */
        private Map<Integer, Integer> standForAlike(List<List<Integer>> rows, int[] standIn) {
            Map<Integer, Set<Integer>> before = new HashMap<>();
            Map<Integer, Set<Integer>> after = new HashMap<>();
            for (Edge edge : shownEdges(standIn)) {
                before.computeIfAbsent(edge.to(), n -> new HashSet<>()).add(edge.from());
                after.computeIfAbsent(edge.from(), n -> new HashSet<>()).add(edge.to());
            }
            Map<Integer, Integer> timesByNode = new TreeMap<>();
            for (List<Integer> row : rows) {
                Map<List<Object>, List<Integer>> alike = row.stream()
                        .collect(Collectors.groupingBy(n -> List.of(
                                nodes.get(n).kind(),
                                before.getOrDefault(n, Set.of()),
                                after.getOrDefault(n, Set.of()))));
                for (List<Integer> same : alike.values()) {
                    if (same.size() > MOST_ALIKE) {
                        same.forEach(n -> standIn[n] = same.get(0));
                        timesByNode.put(same.get(0), same.size());
                    }
                }
            }
            return timesByNode;
        }

        /** Edges between the nodes that are shown, from the last copy of a block as if from the first; none upwards. */
        private List<Edge> shownEdges(int[] standIn) {
            return edges.stream()
                    .map(edge -> new Edge(standIn[edge.from()], standIn[edge.to()]))
                    .filter(edge -> depth[edge.from()] < depth[edge.to()])
                    .distinct()
                    .toList();
        }

        /** Rows by depth; where a depth has nodes of several stages, a row for each. */
        private List<List<Integer>> rows() {
            return IntStream.range(0, nodes.size())
                    .boxed()
                    .collect(Collectors.groupingBy(n -> List.of(nodes.get(n).stage(), depth[n])))
                    .entrySet()
                    .stream()
                    .sorted(Comparator.comparingInt((Map.Entry<List<Integer>, List<Integer>> e) ->
                                    e.getKey().get(1))
                            .thenComparing(e -> e.getKey().get(0)))
                    .map(Map.Entry::getValue)
                    .toList();
        }

        /** The block at a row whose repetitions hide the most rows; of one row once, if nothing repeats. */
        private static Block block(List<String> kinds, int at) {
            Block best = new Block(at, 1, 1);
            for (int size = 1; size <= MOST_BLOCK_ROWS && at + 2 * size <= kinds.size(); size++) {
                int times = 1;
                while (at + (times + 1) * size <= kinds.size()
                        && kinds.subList(at, at + size)
                                .equals(kinds.subList(at + times * size, at + (times + 1) * size))) {
                    times++;
                }
                if (times > 1 && size * (times - 1) > best.size() * (best.times() - 1)) {
                    best = new Block(at, size, times);
                }
            }
            return best;
        }
    }
}
