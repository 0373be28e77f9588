package dev.drover.solver;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/** Equal layers of any kind, forward and backward, with limits that bind at many times at once. */
final class NarrowLayers {
    private static final int LAYERS = 16;

    /** An edge of each layer, from a node of it or of the layer before. */
    private record Inner(int from, int to, boolean crossing, int matrix) {}

    private final SplittableRandom random;
    private final int[] strategies;
    private final List<Inner> edges = new ArrayList<>();
    private final List<long[]> matrices = new ArrayList<>();
    private final List<long[]> costs = new ArrayList<>();
    private final List<long[]> usages = new ArrayList<>();
    /** Lives always, until its backward pass, or for a moment. */
    private final int[] kinds;

    private final long[] change;
    private final int end;

    private NarrowLayers(SplittableRandom random, int nodes) {
        this.random = random;
        this.strategies = random.ints(nodes, 2, 8).toArray();
        this.kinds = random.ints(nodes, 0, 3).toArray();
        this.end = 2 * LAYERS * nodes + 2;
        this.change = new long[end + 1];
        for (int k = 0; k < nodes; k++) {
            long most = random.nextLong(100, 100_000);
            costs.add(random.longs(strategies[k], 0, 100_000).toArray());
            usages.add(random.longs(strategies[k], 0, 4)
                    .map(halvings -> most >> halvings)
                    .toArray());
            for (int from = Math.max(0, k - 2); from < k; from++) {
                edges.add(new Inner(from, k, false, matrix(from, k)));
            }
        }
        edges.add(new Inner(nodes - 1, 0, true, matrix(nodes - 1, 0)));
    }

    private int matrix(int from, int to) {
        matrices.add(random.longs((long) strategies[from] * strategies[to], -30_000, 100_000)
                .map(cost -> Math.max(0, cost))
                .toArray());
        return matrices.size() - 1;
    }

    static StrategyProblem problem(long seed) {
        return new NarrowLayers(new SplittableRandom(seed), 10).build("narrow-" + seed);
    }

    private StrategyProblem build(String name) {
        StrategyProblem.Builder builder = StrategyProblem.builder(name);
        int nodes = strategies.length;
        int[][] forward = new int[LAYERS][nodes];
        int[][] backward = new int[LAYERS][nodes];
        for (int l = 0; l < LAYERS; l++) {
            for (int k = 0; k < nodes; k++) {
                int time = l * nodes + k;
                int to = kinds[k] == 0 ? end : kinds[k] == 1 ? end - time : time + 2;
                forward[l][k] = node(builder, kinds[k] == 0 ? 0 : time, to, k);
            }
        }
        for (int l = LAYERS - 1; l >= 0; l--) {
            for (int k = nodes - 1; k >= 0; k--) {
                int time = end - 1 - (l * nodes + k);
                backward[l][k] = node(builder, time, Math.min(end, time + 3), k);
            }
        }
        for (int l = 0; l < LAYERS; l++) {
            for (Inner edge : edges) {
                int before = edge.crossing ? l - 1 : l;
                if (before >= 0) {
                    long[] matrix = matrices.get(edge.matrix);
                    builder.edge(forward[before][edge.from], forward[l][edge.to], matrix);
                    builder.edge(backward[before][edge.from], backward[l][edge.to], matrix);
                }
            }
        }
        long now = 0;
        long peak = 0;
        for (long more : change) {
            now += more;
            peak = Math.max(peak, now);
        }
        // Between what must be used and what can be.
        builder.usageLimit(peak * 2 / 5);
        return builder.build();
    }

    private int node(StrategyProblem.Builder builder, int start, int to, int kind) {
        long most = 0;
        for (long usage : usages.get(kind)) {
            most = Math.max(most, usage);
        }
        change[start] += most;
        change[to] -= most;
        return builder.node(start, to, costs.get(kind), usages.get(kind));
    }
}
