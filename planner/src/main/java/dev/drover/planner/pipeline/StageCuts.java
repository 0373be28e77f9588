package dev.drover.planner.pipeline;

import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Stages as consecutive pieces of one topological order: the answer when the integer program finds none in time, and the one it must
 * beat. Exact for that order: dynamic programming over the cuts, bytes over each cut, no stage above its limit.
 */
final class StageCuts {
    private StageCuts() {}

    /** Stage by node with the least bytes over cuts, or null if no stage limit of {@code maxWeight} can be kept. */
    static int @Nullable [] solve(StageGraph graph, int stages, double maxWeight) {
        List<Integer> order = graph.topologicalOrder();
        int n = order.size();
        double[] before = new double[n + 1];
        int[] position = new int[n];
        for (int i = 0; i < n; i++) {
            before[i + 1] = before[i] + graph.weight(order.get(i));
            position[order.get(i)] = i;
        }
        double[] bytes = crossing(graph, position, n);
        double[][] best = new double[stages + 1][n + 1];
        int[][] from = new int[stages + 1][n + 1];
        for (double[] row : best) {
            Arrays.fill(row, Double.POSITIVE_INFINITY);
        }
        best[0][0] = 0;
        for (int k = 1; k <= stages; k++) {
            for (int to = 0; to <= n; to++) {
                for (int at = to - 1; at >= 0 && before[to] - before[at] <= maxWeight * (1 + 1e-9); at--) {
                    double total = best[k - 1][at] + (to < n ? bytes[to] : 0);
                    if (total < best[k][to]) {
                        best[k][to] = total;
                        from[k][to] = at;
                    }
                }
            }
        }
        if (Double.isInfinite(best[stages][n])) {
            return null;
        }
        int[] stageByNode = new int[n];
        int to = n;
        for (int k = stages; k > 0; k--) {
            for (int i = from[k][to]; i < to; i++) {
                stageByNode[order.get(i)] = k - 1;
            }
            to = from[k][to];
        }
        return stageByNode;
    }

    /** Bytes that pass a cut before each position. */
    private static double[] crossing(StageGraph graph, int[] position, int n) {
        double[] change = new double[n + 2];
        for (StageGraph.Tensor tensor : graph.tensors()) {
            int last = 0;
            for (int user : tensor.users()) {
                last = Math.max(last, position[user]);
            }
            change[position[tensor.node()] + 1] += tensor.bytes();
            change[last + 1] -= tensor.bytes();
        }
        double[] bytes = new double[n + 1];
        for (int i = 1; i <= n; i++) {
            bytes[i] = bytes[i - 1] + change[i];
        }
        return bytes;
    }

    /** The objective of {@link StageProgram} for given stages. */
    static double bytesOverCuts(StageGraph graph, int[] stageByNode) {
        double sum = 0;
        for (StageGraph.Tensor tensor : graph.tensors()) {
            int last = stageByNode[tensor.node()];
            for (int user : tensor.users()) {
                last = Math.max(last, stageByNode[user]);
            }
            sum += (double) tensor.bytes() * (last - stageByNode[tensor.node()]);
        }
        return sum;
    }

    /** The heaviest stage. */
    static double maxWeight(StageGraph graph, int[] stageByNode, int stages) {
        double[] weights = new double[stages];
        for (int i = 0; i < graph.nodes(); i++) {
            weights[stageByNode[i]] += graph.weight(i);
        }
        return Arrays.stream(weights).max().orElse(0);
    }
}
