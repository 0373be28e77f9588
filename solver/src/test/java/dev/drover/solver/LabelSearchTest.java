package dev.drover.solver;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.solver.Solution.Status;
import dev.drover.solver.SolveOptions.Technique;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class LabelSearchTest {
    private static @Nullable Core core(StrategyProblem problem) {
        return Reducer.reduce(problem, Set.of(Technique.CONDENSE, Technique.DOMINANCE))
                .core();
    }

    private enum Order {
        LAYERS,
        TREE,
        PARTS_SIDE_BY_SIDE
    }

    private static LabelSearch along(Core core, Order order) {
        LabelSearch labels = switch (order) {
            case LAYERS -> along(core);
            case TREE -> LabelSearch.alongTree(core, 1, LabelSearch.MOST_NUMBERS, Budget.endless());
            case PARTS_SIDE_BY_SIDE ->
                LinearOrder.sideBySide(core) == null
                        ? along(core)
                        : LabelSearch.sideBySide(core, LabelSearch.MOST_NUMBERS, Budget.endless());
        };
        return Objects.requireNonNull(labels);
    }

    private static LabelSearch along(Core core) {
        return Objects.requireNonNull(LabelSearch.along(core, LabelSearch.MOST_NUMBERS, Budget.endless()));
    }

    /** Chains along the layers, and things of each layer by themselves that live from their layer to the end of the backward pass. */
    @Test
    void partsThatOnlyUsageJoinsGoSideBySide() {
        int layers = 40;
        int end = 2 * layers;
        StrategyProblem.Builder builder = StrategyProblem.builder("parts");
        int before = -1;
        for (int l = 0; l < layers; l++) {
            int node = builder.node(l, end - l, new long[] {0, 7}, new long[] {9, 2});
            if (before >= 0) {
                builder.edge(before, node, new long[] {0, 5, 3, 0});
            }
            before = node;
        }
        for (int l = 0; l < layers; l++) {
            builder.node(l, end - l, new long[] {0, 4, 6}, new long[] {8, 5, 1});
            builder.node(l, l + 1, new long[] {0, 3}, new long[] {20L * (layers - l), 1});
            builder.node(end - l - 1, end - l, new long[] {0, 2}, new long[] {20L * (layers - l), 0});
        }
        builder.usageLimit(10L * layers);
        Core core = Objects.requireNonNull(core(builder.build()));
        LabelSearch one = Objects.requireNonNull(LabelSearch.along(core, 1000, Budget.endless()));
        LabelSearch sideBySide = Objects.requireNonNull(LabelSearch.sideBySide(core, 1000, Budget.endless()));
        assertThat(one.numbers()).isGreaterThan(layers / 4);
        assertThat(sideBySide.numbers()).isLessThan(6);
    }

    @ParameterizedTest
    @EnumSource
    void labelsFindTheOptimumOfBruteForceAtAnyPrices(Order order) {
        int limited = 0;
        int infeasible = 0;
        for (long seed = RandomProblems.firstSeed(), i = 0; i < RandomProblems.seeds(300); i++, seed++) {
            StrategyProblem problem = RandomProblems.problem(seed);
            Core core = core(problem);
            if (core == null) {
                continue;
            }
            List<Integer> best = RandomProblems.best(problem);
            SplittableRandom random = new SplittableRandom(seed);
            double[] price = new double[core.rows];
            for (int r = 0; r < core.rows; r++) {
                price[r] = random.nextInt(3) == 0 ? 0 : random.nextInt(60);
            }
            limited += core.rows > 0 ? 1 : 0;
            String rerun = "rerun with -Dseed=" + seed;
            LabelSearch labels = along(core, order);
            double bound = labels.search(price, Double.POSITIVE_INFINITY, 1 << 20);
            int[] found = labels.best();
            if (best == null) {
                infeasible++;
                assertThat(found).as(rerun).isNull();
                assertThat(bound).as(rerun).isEqualTo(Double.POSITIVE_INFINITY);
                continue;
            }
            double optimum = Evaluator.evaluate(problem, best).cost().doubleValue();
            assertThat(found).as(rerun).isNotNull();
            assertThat(Evaluator.evaluate(problem, core.expand(java.util.Objects.requireNonNull(found)))
                            .feasible())
                    .as(rerun)
                    .isTrue();
            assertThat(core.cost(found)).as(rerun).isEqualTo(optimum);
            assertThat(bound).as(rerun).isEqualTo(optimum);
            // Too narrow: what is found fits, and the bound is one.
            double narrow = labels.search(price, Double.POSITIVE_INFINITY, 2);
            assertThat(narrow).as(rerun).isLessThanOrEqualTo(optimum + 1e-6);
            int[] some = labels.best();
            if (some != null) {
                assertThat(core.fits(some)).as(rerun).isTrue();
                assertThat(core.cost(some)).as(rerun).isGreaterThanOrEqualTo(optimum);
            }
        }
        assertThat(limited).isGreaterThan(RandomProblems.seeds(300) / 10);
        System.out.println("label search: limited " + limited + ", infeasible " + infeasible);
    }

    /** 144 usage rows of 72 layers: what is used so far is a few numbers along the layers. */
    /** Layers of branches: wide along any line, narrow along a tree. */
    private static StrategyProblem branches(int layers) {
        SplittableRandom random = new SplittableRandom(5);
        StrategyProblem.Builder builder = StrategyProblem.builder("branches");
        long[][] matrices = new long[20][];
        for (int m = 0; m < matrices.length; m++) {
            matrices[m] = random.longs(16, 0, 1000).toArray();
        }
        long[] costs = {0, 11, 23, 37};
        long[] usages = {9, 5, 4, 1};
        int before = -1;
        for (int layer = 0; layer < layers; layer++) {
            int at = 0;
            int trunk = builder.node(layer, 2L * layers - layer, costs, usages);
            if (before >= 0) {
                builder.edge(before, trunk, matrices[at++]);
            }
            for (int branch = 0; branch < 3; branch++) {
                int[] ring = new int[4];
                for (int i = 0; i < ring.length; i++) {
                    ring[i] = builder.node(0, 2L * layers, costs, usages);
                    builder.edge(i == 0 ? trunk : ring[i - 1], ring[i], matrices[at++]);
                }
                builder.edge(ring[3], trunk, matrices[at++]);
                builder.edge(ring[0], ring[2], matrices[at++]);
            }
            before = trunk;
        }
        return builder.usageLimit(60L * layers).build();
    }

    @Test
    void labelsAlongTheTreeProveLayersOfBranches() {
        StrategyProblem problem = branches(12);
        Core core = java.util.Objects.requireNonNull(
                Reducer.reduce(problem, Set.of()).core());
        LabelSearch line = along(core);
        LabelSearch tree = along(core, Order.TREE);
        double[] price = new double[core.rows];
        double optimum = line.search(price, Double.POSITIVE_INFINITY, line.mostWidth());
        assertThat(line.best()).isNotNull();
        assertThat(core.cost(java.util.Objects.requireNonNull(line.best()))).isEqualTo(optimum);
        assertThat(tree.search(price, Double.POSITIVE_INFINITY, tree.mostWidth()))
                .isEqualTo(optimum);
        Solution solution = StrategySolver.solve(problem, SolveOptions.ofSeconds(60), ProgressListener.SILENT);
        assertThat(solution.status()).isEqualTo(Status.OPTIMAL);
        assertThat((double) solution.objective()).isEqualTo(optimum);
    }

    @Test
    void rowsThatDifferOnlyInThePastAreOneNumber() {
        Core core = core(LayeredProblemTest.layers(72, 72 * 3 * 16));
        assertThat(core).isNotNull();
        if (core != null) {
            assertThat(core.rows).isGreaterThan(100);
            assertThat(along(core).numbers()).isLessThan(10);
        }
    }

    @Test
    void aHubWithManyLeavesUnderALimitIsProven() {
        SplittableRandom random = new SplittableRandom(3);
        StrategyProblem.Builder builder = StrategyProblem.builder("hub");
        int hub = builder.node(
                0,
                9,
                random.longs(20, 0, 100).toArray(),
                random.longs(20, 1, 50).toArray());
        for (int i = 0; i < 500; i++) {
            int leaf = builder.node(
                    0,
                    9,
                    random.longs(4, 0, 100).toArray(),
                    random.longs(4, 1, 50).toArray());
            builder.edge(hub, leaf, random.longs(80, 0, 100).toArray());
        }
        Solution solution = StrategySolver.solve(
                builder.usageLimit(7500).build(),
                SolveOptions.ofSeconds(120).withWorkLimit(1_000_000_000),
                ProgressListener.SILENT);
        assertThat(solution.status()).isEqualTo(Status.OPTIMAL);
        assertThat(solution.peakUsage()).isBetween(7400L, 7500L);
    }

    /** Each weight is used in the first or in the second half; both halves have room for less than half of all. */
    static StrategyProblem partition(int items, long room) {
        StrategyProblem.Builder builder = StrategyProblem.builder("partition");
        SplittableRandom random = new SplittableRandom(items);
        long sum = 0;
        for (int i = 0; i < items; i++) {
            long weight = 2 * random.nextLong(50, 500);
            if (i == items - 1 && (sum + weight) % 4 == 0) {
                weight += 2;
            }
            sum += weight;
            int first = builder.node(0, 1, new long[] {0, 0}, new long[] {weight, 0});
            int second = builder.node(1, 2, new long[] {0, 0}, new long[] {0, weight});
            builder.edge(first, second, new long[] {0, StrategyProblem.FORBIDDEN, StrategyProblem.FORBIDDEN, 0});
        }
        return builder.usageLimit(sum / 2 + room).build();
    }

    @Test
    void aPartitionThatDoesNotExistIsProvenInfeasibleWithTheLeastExcess() {
        // The sum is 2 above a multiple of 4 and all weights are even: halves are odd, sums are even.
        Solution none = StrategySolver.solve(partition(26, 0), SolveOptions.ofSeconds(120), ProgressListener.SILENT);
        assertThat(none.status()).isEqualTo(Status.INFEASIBLE);
        long limit = partition(26, 0).usageLimit();
        assertThat(none.explanation())
                .contains(" uses " + (limit + 1) + " in the interval ")
                .endsWith(", above it by 1, and none is above it by less.");
        Solution some = StrategySolver.solve(partition(26, 1), SolveOptions.ofSeconds(120), ProgressListener.SILENT);
        assertThat(some.status()).isEqualTo(Status.OPTIMAL);
    }
}
