package dev.drover.solver;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.solver.SolveOptions.Technique;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Random layers that repeat, another first and last one, hubs to all of them: solved the same with each reduction left out. */
class RepeatedBlocksTest {
    /**
     * Draws a problem.
     *
     * <pre>
     *   first -- layer -- layer -- .. -- last       each layer the same random graph, joined to the next one and to the hub
     *              \-------\-- hub --/
     * </pre>
     */
    private static StrategyProblem problem(long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        StrategyProblem.Builder builder = StrategyProblem.builder("blocks-" + seed);
        int layers = 3 + random.nextInt(4);
        int width = 2 + random.nextInt(5);
        int[] strategies = new int[width];
        long[][] costs = new long[width][];
        long[][] usages = new long[width][];
        for (int p = 0; p < width; p++) {
            strategies[p] = 1 + random.nextInt(4);
            costs[p] = row(random, strategies[p], 20, 0);
            usages[p] = row(random, strategies[p], 9, 0);
        }
        boolean forbids = random.nextBoolean();
        long[][][] inside = new long[width][width][];
        long[][][] across = new long[width][width][];
        long[][] toHub = new long[width][];
        for (int p = 0; p < width; p++) {
            for (int q = 0; q < width; q++) {
                int count = strategies[p] * strategies[q];
                inside[p][q] = p < q && random.nextInt(3) > 0 ? row(random, count, 15, forbids ? 8 : 0) : new long[0];
                across[p][q] = random.nextInt(6) == 0 ? row(random, count, 15, forbids ? 12 : 0) : new long[0];
            }
            toHub[p] = random.nextInt(3) == 0 ? row(random, 2 * strategies[p], 6, 0) : new long[0];
        }
        int end = layers * width + 2;
        int hub = builder.node(0, end, new long[] {3, 0}, new long[] {0, 2});
        int[] before = new int[0];
        for (int layer = 0; layer < layers; layer++) {
            int[] here = new int[width];
            for (int p = 0; p < width; p++) {
                boolean odd = layer == 0 || layer == layers - 1;
                int time = layer * width + p;
                here[p] = builder.node(
                        p % 3 == 0 ? 0 : time,
                        Math.min(end, time + 1 + p),
                        odd && p == 0 ? row(random, strategies[p], 20, 0) : costs[p],
                        usages[p]);
                for (int q = 0; q < p; q++) {
                    if (inside[q][p].length > 0 && !(odd && q == 0)) {
                        builder.edge(here[q], here[p], inside[q][p]);
                    }
                }
                if (toHub[p].length > 0) {
                    builder.edge(hub, here[p], toHub[p]);
                }
                for (int q = 0; q < before.length; q++) {
                    if (across[q][p].length > 0) {
                        builder.edge(before[q], here[p], across[q][p]);
                    }
                }
            }
            before = here;
        }
        if (random.nextBoolean()) {
            builder.usageLimit(random.nextLong(1, 3L * layers * width));
        }
        return builder.build();
    }

    private static long[] row(SplittableRandom random, int count, int below, int forbiddenOneIn) {
        long[] row = new long[count];
        for (int i = 0; i < count; i++) {
            row[i] = forbiddenOneIn > 0 && random.nextInt(forbiddenOneIn) == 0
                    ? StrategyProblem.FORBIDDEN
                    : random.nextLong(below);
        }
        return row;
    }

    @ParameterizedTest
    @EnumSource(names = {"DOMINANCE", "MERGE", "CONDENSE", "FEW_ROWS", "LABELS"})
    void solvedTheSameWithout(Technique part) {
        int feasible = 0;
        for (long seed = 0; seed < 150; seed++) {
            StrategyProblem problem = problem(seed);
            SolveOptions options = SolveOptions.ofSeconds(60).withWorkLimit(300_000_000);
            Solution all = StrategySolver.solve(problem, options, ProgressListener.SILENT);
            Solution some = StrategySolver.solve(problem, options.leavingOut(Set.of(part)), ProgressListener.SILENT);
            assertThat(some.status()).as(problem.name()).isEqualTo(all.status());
            assertThat(some.objective()).as(problem.name()).isEqualTo(all.objective());
            if (all.hasChoices()) {
                feasible++;
                assertThat(all.status()).as(problem.name()).isEqualTo(Solution.Status.OPTIMAL);
                assertThat(Evaluator.evaluate(problem, all.choices()).feasible())
                        .isTrue();
            } else {
                assertThat(all.status()).as(problem.name()).isEqualTo(Solution.Status.INFEASIBLE);
            }
        }
        assertThat(feasible).isGreaterThan(50);
    }
}
