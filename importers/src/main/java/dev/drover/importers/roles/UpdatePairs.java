package dev.drover.importers.roles;

import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.Graph.Alias;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.Parameter;
import dev.drover.ir.type.ArrayShape;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Set;

/**
 * Which output is the next value of which input, in a flat entry.
 *
 * <p>An update carries the old value along: {@code p - lr * u}, {@code b1 * mu + (1 - b1) * g}, {@code count + 1}. So the distance
 * from an output to an input is the number of elementwise steps on the shortest way back that stays within arrays of the output's
 * size; steps in which the op is linear count 1, others {@value #NONLINEAR}. Near pairs of equal shape are joined first. Aliases
 * say only which buffers fit (JAX joins equal shapes in order), so they are used for what is left and depends on the input.
 */
final class UpdatePairs {
    private static final int NONLINEAR = 100;
    private static final int MAX_DISTANCE = 2_000;
    private final Computation entry;
    private final List<Instruction> outputs;
    private final boolean[] mixing;

    private record Pair(int output, int input, int distance) {}

    private record Reached(Instruction instruction, int distance) {}

    private UpdatePairs(Computation entry, boolean[] mixing) {
        this.entry = entry;
        this.mixing = mixing;
        this.outputs = entry.root().operands();
    }

    /** By output: the input that it updates, or -1. */
    static int[] find(Computation flatEntry, boolean[] mixing, List<Alias> aliases) {
        return new UpdatePairs(flatEntry, mixing).pairs(aliases);
    }

    private int[] pairs(List<Alias> aliases) {
        List<Pair> candidates = new ArrayList<>();
        for (int output = 0; output < outputs.size(); output++) {
            search(output, candidates);
        }
        candidates.sort(Comparator.comparingInt(Pair::distance)
                .thenComparingInt(Pair::output)
                .thenComparingInt(Pair::input));
        int[] inputByOutput = new int[outputs.size()];
        Arrays.fill(inputByOutput, -1);
        boolean[] taken = new boolean[entry.parameters().size()];
        for (Pair pair : candidates) {
            join(pair.output(), pair.input(), inputByOutput, taken);
        }
        for (Alias alias : aliases) {
            int output = alias.outputIndex().isEmpty() ? 0 : alias.outputIndex().get(0);
            if (alias.parameterIndex().isEmpty()
                    && output < outputs.size()
                    && alias.parameter() < taken.length
                    && (alias.must() || believable(outputs.get(output), alias.parameter()))) {
                join(output, alias.parameter(), inputByOutput, taken);
            }
        }
        return inputByOutput;
    }

    private void join(int output, int input, int[] inputByOutput, boolean[] taken) {
        boolean fits =
                outputs.get(output).shape().equals(entry.parameters().get(input).shape());
        if (fits && inputByOutput[output] < 0 && !taken[input]) {
            inputByOutput[output] = input;
            taken[input] = true;
        }
    }

    /** Any metric fits into the buffer of a scalar; an array that depends on one of its shape is hardly a metric. */
    private boolean believable(Instruction output, int input) {
        return output.array().elements() > 1
                && DataFlow.ancestors(entry, output)[
                        entry.parameters().get(input).id()];
    }

    /** Shortest ways first (Dijkstra). */
    private void search(int output, List<Pair> into) {
        Instruction start = outputs.get(output);
        long elements = start.array().elements();
        Map<Integer, Integer> settled = new HashMap<>();
        PriorityQueue<Reached> open = new PriorityQueue<>(Comparator.comparingInt(Reached::distance)
                .thenComparingInt(r -> -r.instruction().id()));
        open.add(new Reached(start, 0));
        while (!open.isEmpty()) {
            Reached at = open.remove();
            if (settled.putIfAbsent(at.instruction().id(), at.distance()) != null) {
                continue;
            }
            Instruction instruction = at.instruction();
            if (instruction.op() instanceof Parameter parameter) {
                if (instruction.shape().equals(start.shape())) {
                    into.add(new Pair(output, parameter.number(), at.distance()));
                }
                continue;
            }
            if (mixing[instruction.id()]) {
                continue;
            }
            for (int i = 0; i < instruction.operands().size(); i++) {
                Instruction operand = instruction.operand(i);
                int distance = at.distance() + (linear(instruction, i) ? 1 : NONLINEAR);
                if (distance <= MAX_DISTANCE
                        && operand.shape() instanceof ArrayShape array
                        && array.elements() == elements) {
                    open.add(new Reached(operand, distance));
                }
            }
        }
    }

    private static boolean linear(Instruction instruction, int operand) {
        for (Set<Integer> group : instruction.op().linearGroups()) {
            if (group.contains(operand)) {
                return true;
            }
        }
        return false;
    }
}
