package dev.drover.planner.pipeline;

import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.Parameter;
import dev.drover.plan.stage.CutStep;
import dev.drover.plan.stage.FreeValues;
import dev.drover.plan.stage.Phase;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.function.ToDoubleFunction;

/**
 * The forward work of a micro-batch, contracted: what is cheap goes with the value it comes from, so that a few hundred nodes are
 * left.
 *
 * <p>An instruction joins the node of its operands with the greatest rank, if that is one node and does not become too heavy; then all
 * its other operands are of lower rank, and no cycle can come about. Otherwise it starts a node, one rank higher.
 */
final class StageGraph {
    private final CutStep cut;
    /** By instruction id; -1 for all that is not forward work. */
    private final int[] nodeById;

    private final List<Double> weights = new ArrayList<>();
    private final List<TreeSet<Integer>> successors = new ArrayList<>();
    private final List<Tensor> tensors = new ArrayList<>();

    /** A value that other nodes use. */
    record Tensor(int node, List<Integer> users, long bytes) {}

    /**
     * Contracts.
     *
     * @param weight time or flops of an instruction
     * @param maxWeight of a node; heavier instructions make a node of their own
     */
    StageGraph(
            CutStep cut, List<Phase> phases, boolean[] free, ToDoubleFunction<Instruction> weight, double maxWeight) {
        this.cut = cut;
        this.nodeById = new int[cut.computation().size()];
        Arrays.fill(nodeById, -1);
        List<Integer> ranks = new ArrayList<>();
        for (Instruction instruction : cut.computation().instructions()) {
            int id = instruction.id();
            if (phases.get(id) != Phase.FORWARD || free[id] || instruction.op() instanceof Parameter) {
                continue;
            }
            double own = weight.applyAsDouble(instruction);
            int best = -1;
            boolean tie = false;
            for (Instruction source : FreeValues.sources(instruction, free)) {
                int node = nodeById[source.id()];
                if (node < 0 || node == best) {
                    continue;
                }
                int order = best < 0 ? 1 : ranks.get(node).compareTo(ranks.get(best));
                tie = order == 0 || (order < 0 && tie);
                best = order > 0 ? node : best;
            }
            if (best >= 0 && !tie && (instruction.takesATuple() || own == 0 || weights.get(best) + own <= maxWeight)) {
                nodeById[id] = best;
                weights.set(best, weights.get(best) + own);
            } else {
                nodeById[id] = weights.size();
                ranks.add(best < 0 ? 0 : ranks.get(best) + 1);
                weights.add(own);
            }
        }
        connect(free);
    }

    private void connect(boolean[] free) {
        for (int i = 0; i < weights.size(); i++) {
            successors.add(new TreeSet<>());
        }
        List<TreeSet<Integer>> usersById = new ArrayList<>();
        for (Instruction instruction : cut.computation().instructions()) {
            usersById.add(new TreeSet<>());
            int node = nodeById[instruction.id()];
            if (node < 0) {
                continue;
            }
            for (Instruction source : FreeValues.sources(instruction, free)) {
                int from = nodeById[source.id()];
                if (from >= 0 && from != node) {
                    successors.get(from).add(node);
                    usersById.get(source.id()).add(node);
                }
            }
        }
        for (Instruction instruction : cut.computation().instructions()) {
            TreeSet<Integer> users = usersById.get(instruction.id());
            if (!users.isEmpty()) {
                tensors.add(new Tensor(
                        nodeById[instruction.id()],
                        List.copyOf(users),
                        instruction.shape().sizeBytes()));
            }
        }
    }

    int nodes() {
        return weights.size();
    }

    double weight(int node) {
        return weights.get(node);
    }

    double totalWeight() {
        return weights.stream().mapToDouble(Double::doubleValue).sum();
    }

    int node(int id) {
        return nodeById[id];
    }

    SortedSet<Integer> successors(int node) {
        return successors.get(node);
    }

    List<Tensor> tensors() {
        return tensors;
    }

    /** Nodes in an order in which edges go forward: by smallest number first, which is that of the program. */
    List<Integer> topologicalOrder() {
        int[] missing = new int[nodes()];
        for (TreeSet<Integer> list : successors) {
            for (int to : list) {
                missing[to]++;
            }
        }
        TreeSet<Integer> ready = new TreeSet<>();
        for (int i = 0; i < nodes(); i++) {
            if (missing[i] == 0) {
                ready.add(i);
            }
        }
        List<Integer> order = new ArrayList<>();
        while (!ready.isEmpty()) {
            int node = ready.pollFirst();
            order.add(node);
            for (int to : successors.get(node)) {
                if (--missing[to] == 0) {
                    ready.add(to);
                }
            }
        }
        if (order.size() != nodes()) {
            throw new IllegalStateException("The contracted graph must have no cycle.");
        }
        return order;
    }

    /** By node, all nodes that it depends on. */
    List<BitSet> ancestors() {
        List<BitSet> out = new ArrayList<>();
        for (int i = 0; i < nodes(); i++) {
            out.add(new BitSet());
        }
        for (int node : topologicalOrder()) {
            for (int to : successors.get(node)) {
                out.get(to).or(out.get(node));
                out.get(to).set(node);
            }
        }
        return out;
    }
}
