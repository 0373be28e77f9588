package dev.drover.solver;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.drover.solver.Solution.Status;
import dev.drover.solver.SolveOptions.Technique;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class StrategySolverTest {
    private static Solution solve(StrategyProblem problem, SolveOptions options) {
        return StrategySolver.solve(problem, options, ProgressListener.SILENT);
    }

    @Test
    void everyRandomProblemIsSolvedToTheOptimumOfBruteForce() {
        int infeasible = 0;
        for (long seed = RandomProblems.firstSeed(), i = 0; i < RandomProblems.seeds(200); i++, seed++) {
            StrategyProblem problem = RandomProblems.problem(seed);
            List<Integer> best = RandomProblems.best(problem);
            Solution solution = solve(problem, SolveOptions.ofSeconds(5));
            String rerun = "rerun with -Dseed=" + seed + ": " + solution.explanation();
            if (best == null) {
                infeasible++;
                assertThat(solution.status()).as(rerun).isEqualTo(Status.INFEASIBLE);
                assertThat(solution.explanation()).as(rerun).isNotEmpty();
            } else {
                assertThat(solution.status()).as(rerun).isEqualTo(Status.OPTIMAL);
                assertThat(solution.objective())
                        .as(rerun)
                        .isEqualTo(Evaluator.evaluate(problem, best).cost().longValue());
                assertThat(solution.lowerBound()).as(rerun).isEqualTo(solution.objective());
                assertThat(Evaluator.evaluate(problem, solution.choices()).feasible())
                        .as(rerun)
                        .isTrue();
            }
        }
        System.out.println("random problems from seed " + RandomProblems.firstSeed() + ", infeasible: " + infeasible);
    }

    @Test
    void withoutReductionsTheOptimumIsTheSame() {
        for (long seed = RandomProblems.firstSeed(), i = 0; i < RandomProblems.seeds(60); i++, seed++) {
            StrategyProblem problem = RandomProblems.problem(seed);
            Solution reduced = solve(problem, SolveOptions.ofSeconds(5));
            for (Set<Technique> without : List.of(
                    Set.of(Technique.DOMINANCE),
                    Set.of(Technique.MERGE),
                    Set.of(Technique.CONDENSE),
                    Set.of(Technique.DOMINANCE, Technique.MERGE, Technique.CONDENSE))) {
                Solution other = solve(problem, SolveOptions.ofSeconds(5).leavingOut(without));
                assertThat(other.status())
                        .as("seed %d without %s", seed, without)
                        .isEqualTo(reduced.status());
                assertThat(other.objective())
                        .as("seed %d without %s", seed, without)
                        .isEqualTo(reduced.objective());
            }
        }
    }

    @Test
    void sameInputSameAnswer() {
        for (long seed = 1; seed <= 20; seed++) {
            StrategyProblem problem = RandomProblems.problem(seed);
            Solution first = solve(problem, SolveOptions.ofSeconds(5).withSeed(7));
            Solution second = solve(problem, SolveOptions.ofSeconds(5).withSeed(7));
            assertThat(second.choices()).isEqualTo(first.choices());
        }
    }

    @Test
    void aLimitOfWorkEndsAtTheSameChoiceOnEveryMachine() {
        StrategyProblem problem = LayeredProblemTest.layers(40, 40 * 3 * 20);
        SolveOptions options = SolveOptions.ofSeconds(600).withWorkLimit(40_000_000);
        Solution first = solve(problem, options);
        Solution second = solve(problem, options.withThreads(1));
        assertThat(first.hasChoices()).isTrue();
        assertThat(second.choices()).isEqualTo(first.choices());
        assertThat(second.lowerBound()).isEqualTo(first.lowerBound());
        // More work: no worse, and not ended by the first limit.
        Solution more = solve(problem, options.withWorkLimit(80_000_000));
        assertThat(more.objective()).isLessThanOrEqualTo(first.objective());
    }

    @Test
    void aProblemWithoutNodesCostsNothing() {
        Solution solution = solve(StrategyProblem.builder("empty").build(), SolveOptions.ofSeconds(1));
        assertThat(solution.status()).isEqualTo(Status.OPTIMAL);
        assertThat(solution.objective()).isZero();
        assertThat(solution.gap()).isZero();
    }

    @Test
    void aLimitThatNothingKeepsIsExplainedWithTimeAndExcess() {
        StrategyProblem.Builder builder = StrategyProblem.builder("tight");
        builder.node(0, 10, new long[] {1, 2}, new long[] {6, 7});
        builder.node(5, 15, new long[] {1, 2}, new long[] {8, 6});
        Solution solution = solve(builder.usageLimit(10).build(), SolveOptions.ofSeconds(1));
        assertThat(solution.status()).isEqualTo(Status.INFEASIBLE);
        assertThat(solution.explanation())
                .isEqualTo(
                        "Every choice without forbidden pairs is above the usage limit 10: the nearest uses 12 in the interval [5, 10),"
                                + " above it by 2, and none is above it by less.");
        assertThat(solution.choices()).isEmpty();
    }

    @Test
    void aLimitThatOnlyForbiddenPairsCouldKeepIsInfeasible() {
        StrategyProblem.Builder builder = StrategyProblem.builder("pairs");
        int a = builder.node(0, 10, new long[] {0, 0}, new long[] {5, 9});
        int b = builder.node(0, 10, new long[] {0, 0}, new long[] {5, 9});
        long no = StrategyProblem.FORBIDDEN;
        builder.edge(a, b, new long[] {no, 0, 0, 0});
        Solution solution = solve(builder.usageLimit(10).build(), SolveOptions.ofSeconds(2));
        assertThat(solution.status()).isEqualTo(Status.INFEASIBLE);
        assertThat(solution.explanation())
                .isEqualTo("Every choice without forbidden pairs is above the usage limit 10: the nearest uses 14"
                        + " in the interval [0, 10), above it by 4, and none is above it by less.");
    }

    @Test
    void aNodeAboveTheLimitIsToldWithWhatItUses() {
        StrategyProblem.Builder builder = StrategyProblem.builder("node");
        builder.node(3, 8, new long[] {1, 2, StrategyProblem.FORBIDDEN}, new long[] {16, 17, 2});
        Solution solution = solve(builder.usageLimit(10).build(), SolveOptions.ofSeconds(1));
        assertThat(solution.explanation())
                .isEqualTo("Node 0 alone uses at least 16 in the interval [3, 8) with each strategy it may take,"
                        + " above the usage limit 10 by 6.");
    }

    @Test
    void anEdgeThatForbidsAllPairsIsNamed() {
        StrategyProblem.Builder builder = StrategyProblem.builder("edge");
        int a = builder.node(0, 1, new long[] {0, 0}, new long[] {0, 0});
        int b = builder.node(0, 1, new long[] {0}, new long[] {0});
        builder.edge(a, b, new long[] {StrategyProblem.FORBIDDEN, Long.MAX_VALUE});
        Solution solution = solve(builder.build(), SolveOptions.ofSeconds(1));
        assertThat(solution.status()).isEqualTo(Status.INFEASIBLE);
        assertThat(solution.explanation()).startsWith("Edge 0 between nodes 0 and 1 forbids every pair");
    }

    @Test
    void sumsBeyond64BitsAreScoredExactly() {
        StrategyProblem.Builder builder = StrategyProblem.builder("wide");
        for (int i = 0; i < 20; i++) {
            builder.node(0, 1, new long[] {StrategyProblem.FORBIDDEN - 1}, new long[] {Long.MAX_VALUE / 2});
        }
        StrategyProblem problem = builder.build();
        List<Integer> first = Collections.nCopies(20, 0);
        assertThat(Evaluator.evaluate(problem, first).cost()).hasToString("19999999999999999980");
        assertThat(Evaluator.evaluate(problem, first).peakUsage()).hasToString("92233720368547758060");
    }

    /** Sums that doubles cannot tell apart are never called optimal, and the bound stays below every choice. */
    @Test
    void nothingIsProvenAboveTheExactRange() {
        for (int seed = 0; seed < 60; seed++) {
            java.util.Random random = new java.util.Random(seed);
            StrategyProblem.Builder builder = StrategyProblem.builder("large " + seed);
            for (int node = 0; node < 3; node++) {
                long[] costs = {10_000_000_000_000_000L + random.nextInt(9), 10_000_000_000_000_000L + random.nextInt(9)
                };
                builder.node(0, 1, costs, new long[] {0, 0});
            }
            for (int[] ends : new int[][] {{0, 1}, {1, 2}, {0, 2}}) {
                builder.edge(ends[0], ends[1], random.longs(4, 0, 9).toArray());
            }
            StrategyProblem problem = builder.build();
            Solution solution = StrategySolver.solve(problem, SolveOptions.ofSeconds(1), ProgressListener.SILENT);
            assertThat(solution.status()).isEqualTo(Solution.Status.FEASIBLE);
            for (int choice = 0; choice < 8; choice++) {
                assertThat(Evaluator.evaluate(problem, List.of(choice & 1, choice >> 1 & 1, choice >> 2))
                                .cost()
                                .longValueExact())
                        .isGreaterThanOrEqualTo(solution.lowerBound());
            }
        }
    }

    @Test
    void sumsThatNoAnswerCouldTellAreRefused() {
        StrategyProblem.Builder costs = StrategyProblem.builder("costs");
        StrategyProblem.Builder usages = StrategyProblem.builder("usages");
        for (int node = 0; node < 20; node++) {
            costs.node(0, 1, new long[] {StrategyProblem.FORBIDDEN - 1}, new long[] {0});
            usages.node(0, 1, new long[] {1, 1}, new long[] {Long.MAX_VALUE / 2, 1});
        }
        // A node that forbids all makes the sums of no matter.
        StrategyProblem.Builder none = StrategyProblem.builder("none");
        for (int node = 0; node < 20; node++) {
            none.node(0, 1, new long[] {StrategyProblem.FORBIDDEN - (node < 19 ? 1 : 0)}, new long[] {0});
        }
        assertThat(solve(none).explanation()).isEqualTo("Node 19 forbids each of its strategies.");
        assertThatThrownBy(() -> solve(costs))
                .isInstanceOf(SolverInputException.class)
                .hasMessageContaining("least costs");
        assertThatThrownBy(() -> solve(usages.usageLimit(Long.MAX_VALUE - 1)))
                .isInstanceOf(SolverInputException.class)
                .hasMessageContaining("largest usages");
    }

    /** Many write usages that must not be chosen like costs. */
    @Test
    void usagesAboveTheLimitAreNeverChosenHoweverLarge() {
        for (long usage : new long[] {101, StrategyProblem.FORBIDDEN, Long.MAX_VALUE}) {
            StrategyProblem.Builder builder = StrategyProblem.builder("large usages");
            for (int node = 0; node < 10; node++) {
                builder.node(0, 1, new long[] {0, 3}, new long[] {usage, 1});
            }
            builder.node(5, 5, new long[] {0, 3}, new long[] {usage, 1});
            Solution solution = solve(builder.usageLimit(100));
            assertThat(solution.status()).isEqualTo(Status.OPTIMAL);
            assertThat(solution.objective()).isEqualTo(30);
            Solution none = solve(builder.usageLimit(9));
            assertThat(none.explanation()).contains("uses 10 in the interval [0, 1), above it by 1, and none is above");
        }
    }

    @Test
    @SuppressWarnings("NullAway") // Callers outside of this project do not check for null.
    void aListenerMustBeGivenAndWhatItThrowsIsTheCause() {
        StrategyProblem.Builder builder = StrategyProblem.builder("one");
        builder.node(0, 1, new long[] {3}, new long[] {1});
        StrategyProblem problem = builder.build();
        SolveOptions options = SolveOptions.ofSeconds(1);
        assertThatThrownBy(() -> StrategySolver.solve(problem, options, null))
                .isInstanceOf(NullPointerException.class)
                .hasMessage("listener");
        assertThatThrownBy(() -> StrategySolver.solve(problem, options, step -> {
                    throw new UnsupportedOperationException("no");
                }))
                .isInstanceOf(IllegalStateException.class)
                .hasCauseInstanceOf(UnsupportedOperationException.class);
    }

    private static Solution solve(StrategyProblem.Builder builder) {
        return StrategySolver.solve(builder.build(), SolveOptions.ofSeconds(1), ProgressListener.SILENT);
    }
}
