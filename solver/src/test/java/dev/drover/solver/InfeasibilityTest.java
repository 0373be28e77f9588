package dev.drover.solver;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.solver.Solution.Status;
import java.math.BigInteger;
import java.util.List;
import java.util.SplittableRandom;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Each reason why there is no choice is true, and each excess exact. */
class InfeasibilityTest {
    private static final Pattern EXCESS =
            Pattern.compile("Every choice without forbidden pairs is above the usage limit"
                    + " (\\d+): the nearest uses (\\d+) in the interval \\[(\\d+), (\\d+)\\), above it by (\\d+),"
                    + " and none is above it by less\\.");

    @Test
    void eachReasonIsThatOfBruteForce() {
        int[] told = new int[3];
        for (long seed = RandomProblems.firstSeed(), i = 0; i < RandomProblems.seeds(400); i++, seed++) {
            StrategyProblem problem =
                    seed % 4 == 0 ? RandomProblems.problem(seed) : seed % 4 == 1 ? clique(seed) : tight(seed);
            if (RandomProblems.best(problem) != null) {
                continue;
            }
            Solution solution = StrategySolver.solve(problem, SolveOptions.ofSeconds(20), ProgressListener.SILENT);
            String rerun = "rerun with -Dseed=" + seed + ": " + solution.explanation();
            assertThat(solution.status()).as(rerun).isEqualTo(Status.INFEASIBLE);
            BigInteger least = leastPeak(problem);
            Matcher excess = EXCESS.matcher(solution.explanation());
            if (excess.matches()) {
                told[0]++;
                assertThat(least).as(rerun).isNotNull().hasToString(excess.group(2));
                assertThat(excess.group(1)).as(rerun).isEqualTo("" + problem.usageLimit());
                assertThat(least).isEqualTo(new BigInteger(excess.group(5)).add(new BigInteger(excess.group(1))));
            } else if (solution.explanation().startsWith("Node ")
                    && solution.explanation().contains(" alone uses ")) {
                told[1]++;
                assertThat(least).as(rerun).isNotNull().isGreaterThan(BigInteger.valueOf(problem.usageLimit()));
            } else {
                told[2]++;
                assertThat(least).as(rerun).isNull();
                assertThat(solution.explanation())
                        .as(rerun)
                        .containsPattern("forbids? |The forbidden pairs ")
                        .doesNotContain("above");
            }
        }
        System.out.println("infeasible by excess, node, pairs: " + told[0] + ", " + told[1] + ", " + told[2]);
        assertThat(told[0]).isGreaterThan(RandomProblems.seeds(400) / 20);
        assertThat(told[2]).isGreaterThan(RandomProblems.seeds(400) / 40);
    }

    /** More neighbours than colours: no single edge excludes anything, and each table of all of them is large. */
    @Test
    void aCliqueWithTooFewColoursIsProven() {
        for (int colours = 3; colours <= 8; colours++) {
            for (boolean limited : new boolean[] {false, true}) {
                StrategyProblem.Builder builder = colouring(colours + 1, colours, 1);
                StrategyProblem problem = (limited ? builder.usageLimit(colours + 1) : builder).build();
                Solution solution = StrategySolver.solve(problem, SolveOptions.ofSeconds(60), ProgressListener.SILENT);
                assertThat(solution.status()).isEqualTo(Status.INFEASIBLE);
                assertThat(solution.explanation())
                        .isEqualTo("The forbidden pairs leave no choice"
                                + (limited ? ", whatever the usage limit" : "")
                                + ", though no single edge forbids all.");
            }
        }
    }

    /** A clique of 3 or 4 nodes with as many colours or one too few, and usages that seldom fit. */
    private static StrategyProblem clique(long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        int nodes = random.nextInt(3, 5);
        StrategyProblem.Builder builder = colouring(nodes, nodes - random.nextInt(2), seed);
        return random.nextInt(3) == 0
                ? builder.build()
                : builder.usageLimit(random.nextLong(6)).build();
    }

    private static StrategyProblem.Builder colouring(int nodes, int colours, long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        StrategyProblem.Builder builder = StrategyProblem.builder("colours-" + seed);
        long[] different = new long[colours * colours];
        for (int k = 0; k < colours; k++) {
            different[k * colours + k] = StrategyProblem.FORBIDDEN;
        }
        for (int i = 0; i < nodes; i++) {
            builder.node(
                    0,
                    1,
                    random.longs(colours, 0, 9).toArray(),
                    random.longs(colours, 0, 2).toArray());
        }
        for (int i = 0; i < nodes; i++) {
            for (int j = i + 1; j < nodes; j++) {
                builder.edge(i, j, different);
            }
        }
        return builder;
    }

    /** Five nodes that overlap in time, with a limit that often cannot be kept. */
    private static StrategyProblem tight(long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        StrategyProblem.Builder builder = StrategyProblem.builder("tight-" + seed);
        for (int i = 0; i < 5; i++) {
            long start = random.nextLong(3);
            builder.node(
                    start,
                    start + random.nextLong(1, 4),
                    new long[3],
                    random.longs(3, 1, 10).toArray());
        }
        for (int e = 0; e < 4; e++) {
            long[] matrix = new long[9];
            for (int k = 0; k < 9; k++) {
                matrix[k] = random.nextInt(3) == 0 ? StrategyProblem.FORBIDDEN : 0;
            }
            builder.edge(e, e + 1, matrix);
        }
        return builder.usageLimit(random.nextLong(9, 16)).build();
    }

    /** The least peak of all choices without forbidden pairs, null if there are none. */
    private static @Nullable BigInteger leastPeak(StrategyProblem problem) {
        List<Integer> best = RandomProblems.best(
                problem,
                score -> score.problems().stream().noneMatch(p -> p.contains("forbids")),
                Evaluator.Evaluation::peakUsage);
        return best == null ? null : Evaluator.evaluate(problem, best).peakUsage();
    }
}
