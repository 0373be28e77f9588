package dev.drover.solver;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.solver.Solution.Status;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Problems of other shapes than the contest's: a choice is found where one is easy to see, and no bound is above a choice. */
class OddInstancesTest {
    /** Limits of work are by clocks of their own: each of these takes a second or less, and may take a minute. */
    private static final SolveOptions OPTIONS =
            SolveOptions.ofSeconds(120).withWorkLimit(1_500_000_000).withThreads(1);

    private static Solution solve(StrategyProblem problem) {
        Solution solution = StrategySolver.solve(problem, OPTIONS, ProgressListener.SILENT);
        assertThat(solution.hasChoices()).as(solution.explanation()).isTrue();
        assertThat(Evaluator.evaluate(problem, solution.choices()).feasible()).isTrue();
        assertThat(solution.lowerBound()).isLessThanOrEqualTo(solution.objective());
        return solution;
    }

    /** A chain or a star with many strategies, all matrices different at their ends: the leaves go first, one row at a time. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void manyStrategiesWithoutALimitAreProven(boolean star) {
        SplittableRandom random = new SplittableRandom(3);
        int values = 100;
        StrategyProblem.Builder builder = StrategyProblem.builder("many strategies");
        long[][] matrices = new long[8][];
        for (int m = 0; m < matrices.length; m++) {
            matrices[m] = random.longs((long) values * values, 0, 1000).toArray();
        }
        for (int i = 0; i < 2000; i++) {
            int node = builder.node(
                    0,
                    1,
                    random.longs(values, 0, 1000).toArray(),
                    random.longs(values, 0, 9).toArray());
            if (i > 0) {
                builder.edge(star ? 0 : node - 1, node, matrices[random.nextInt(matrices.length)]);
            }
        }
        assertThat(solve(builder.build()).status()).isEqualTo(Status.OPTIMAL);
    }

    /** Halves of equal weight: many choices fit, but those that cost least do not, and each leaves no room at all. */
    @Test
    void heavyItemsInTwoFullHalvesFindAChoice() {
        SplittableRandom random = new SplittableRandom(1);
        StrategyProblem.Builder builder = StrategyProblem.builder("halves");
        long[] weight = random.longs(40, 100, 1000).toArray();
        long sum = 0;
        for (int i = 0; i < weight.length; i++) {
            sum += weight[i];
        }
        weight[0] += sum % 2;
        sum += sum % 2;
        for (long w : weight) {
            int first = builder.node(0, 1, new long[] {random.nextLong(100), random.nextLong(100)}, new long[] {w, 0});
            int second = builder.node(1, 2, new long[] {0, 0}, new long[] {0, w});
            builder.edge(first, second, new long[] {0, Long.MAX_VALUE, Long.MAX_VALUE, 0});
        }
        solve(builder.usageLimit(sum / 2).build());
    }

    /** When the time ends before the reductions, forbidden pairs do not stop the quick choice, and the bound is not 0. */
    @Test
    void theQuickChoiceGoesAroundForbiddenPairs() {
        SplittableRandom random = new SplittableRandom(2);
        StrategyProblem.Builder builder = StrategyProblem.builder("pairs");
        int[] planted = new int[3000];
        for (int i = 0; i < planted.length; i++) {
            planted[i] = random.nextInt(5);
            builder.node(0, 1, random.longs(5, 10, 1000).toArray(), new long[] {1, 1, 1, 1, 1});
        }
        for (int e = 0; e < 5000; e++) {
            int from = random.nextInt(planted.length);
            int to = (from + 1 + random.nextInt(9)) % planted.length;
            long[] matrix = random.longs(25, 0, 1000).toArray();
            for (int k = 0; k < 25; k++) {
                boolean forbidden = random.nextInt(8) == 0 && k != planted[from] * 5 + planted[to];
                matrix[k] = forbidden ? Long.MAX_VALUE : matrix[k];
            }
            builder.edge(from, to, matrix);
        }
        StrategyProblem problem = builder.usageLimit(planted.length).build();
        QuickChoice.Found found = QuickChoice.find(problem);
        assertThat(found).isNotNull();
        Solution late = StrategySolver.solve(
                problem, new SolveOptions(1, 1, 1, 0, java.util.Set.of(), Long.MAX_VALUE), p -> {});
        assertThat(late.status()).isEqualTo(Status.FEASIBLE);
        assertThat(late.lowerBound())
                .isGreaterThanOrEqualTo(10L * planted.length)
                .isLessThanOrEqualTo(late.objective());
    }

    @Test
    void aLimitOfNothingAndEqualCostsAreNoTrouble() {
        StrategyProblem.Builder nothing = StrategyProblem.builder("nothing");
        StrategyProblem.Builder equal = StrategyProblem.builder("equal");
        for (int i = 0; i < 100; i++) {
            nothing.node(0, 2, new long[] {5, 1}, new long[] {0, 3});
            equal.node(i, i + 3, new long[] {0, 0, 0}, new long[] {1L << 55, 1L << 54, 7});
            if (i > 0) {
                nothing.edge(i - 1, i, new long[] {1, 2, 3, 4});
                equal.edge(i - 1, i, new long[] {0, 0, 0, 0, 0, 0, 0, 0, Long.MAX_VALUE});
            }
        }
        assertThat(solve(nothing.usageLimit(0).build()).objective()).isEqualTo(599);
        assertThat(solve(equal.usageLimit((1L << 55) + (1L << 54)).build()).status())
                .isEqualTo(Status.OPTIMAL);
    }
}
