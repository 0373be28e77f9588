package dev.drover.solver;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.solver.Solution.Status;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** Costs up to the last digit that doubles tell are proven to the last digit, whatever costs more. */
class LargeCostsTest {
    private static final SolveOptions OPTIONS = SolveOptions.ofSeconds(60).withWorkLimit(600_000_000);

    @Test
    void theOptimumOfBruteForceIsProven() {
        int proven = 0;
        for (long seed = RandomProblems.firstSeed(), i = 0; i < RandomProblems.seeds(300); i++, seed++) {
            StrategyProblem problem = large(seed);
            List<Integer> best = RandomProblems.best(problem);
            if (best == null) {
                continue;
            }
            Solution solution = StrategySolver.solve(problem, OPTIONS, ProgressListener.SILENT);
            long cost = Evaluator.evaluate(problem, best).cost().longValueExact();
            String rerun = "rerun with -Dseed=" + seed + ": " + cost + " " + solution.improvements();
            if (cost <= 1L << 53) {
                assertThat(solution.status()).as(rerun).isEqualTo(Status.OPTIMAL);
                assertThat(solution.objective()).as(rerun).isEqualTo(cost);
                proven++;
            } else {
                assertThat(solution.status()).as(rerun).isEqualTo(Status.FEASIBLE);
                assertThat(solution.lowerBound()).as(rerun).isLessThanOrEqualTo(cost);
            }
        }
        assertThat(proven).isGreaterThan(RandomProblems.seeds(300) / 2);
    }

    @Test
    void theSearchEndsWhereNothingIsLeftToSearch() {
        StrategyProblem.Builder builder = StrategyProblem.builder("beyond");
        int a = builder.node(0, 1, new long[] {(1L << 53) + 1, (1L << 53) + 3}, new long[] {5, 3});
        int b = builder.node(0, 1, new long[] {1, 4}, new long[] {5, 3});
        builder.edge(a, b, new long[] {3, 1, 0, 7});
        for (long limit : new long[] {8, 100}) {
            Solution solution = StrategySolver.solve(
                    builder.usageLimit(limit).build(), SolveOptions.ofSeconds(60), ProgressListener.SILENT);
            assertThat(solution.status()).isEqualTo(Status.FEASIBLE);
            assertThat(solution.seconds()).isLessThan(20);
        }
    }

    /** A random problem with costs of 10^11 to 10^15, some of which differ in the last digits only, and a few far above. */
    private static StrategyProblem large(long seed) {
        StrategyProblem small = RandomProblems.problem(seed);
        SplittableRandom random = new SplittableRandom(seed);
        long unit = 1;
        for (int digits = random.nextInt(9, 13); digits > 0; digits--) {
            unit *= 10;
        }
        StrategyProblem.Builder builder =
                StrategyProblem.builder("large-" + seed).usageLimit(small.usageLimit());
        for (int node = 0; node < small.nodeCount(); node++) {
            builder.node(
                    small.intervalStart(node),
                    small.intervalEnd(node),
                    larger(small.costs(node), unit, random),
                    small.usages(node));
        }
        for (int edge = 0; edge < small.edgeCount(); edge++) {
            builder.edge(
                    small.edgeFrom(edge),
                    small.edgeTo(edge),
                    larger(small.matrix(small.matrixNumber(edge)), unit, random));
        }
        return builder.build();
    }

    private static long[] larger(long[] costs, long unit, SplittableRandom random) {
        long[] larger = costs.clone();
        for (int k = 0; k < larger.length; k++) {
            if (larger[k] < StrategyProblem.FORBIDDEN) {
                larger[k] = random.nextInt(12) == 0
                        ? random.nextLong(1L << 54, StrategyProblem.FORBIDDEN)
                        : larger[k] / 8 * unit + random.nextLong(30);
            }
        }
        return larger;
    }
}
