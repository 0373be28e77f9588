package dev.drover.solver;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.offset;

import java.util.Objects;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class TreeDualTest {
    private static TreeDual dual(Core core) {
        Elimination tree = Objects.requireNonNull(
                Elimination.whole(core, 1 << 20, 1 << 22, new SplittableRandom(1), Budget.endless()));
        return new TreeDual(core, tree, new double[core.rows], Budget.endless());
    }

    @Test
    void noChoiceThatFitsCostsLessThanTheBoundOfAnyStepAndNoCheaperOneLosesAValue() {
        int compared = 0;
        for (long seed = RandomProblems.firstSeed(), i = 0; i < RandomProblems.seeds(400); i++, seed++) {
            Core core = RandomProblems.condensed(seed);
            int[] best = core == null ? null : FirstChoice.find(core, Budget.endless());
            if (core == null || core.rows == 0 || best == null) {
                continue;
            }
            double[] least = {Double.POSITIVE_INFINITY};
            RandomProblems.everyChoice(
                    core, x -> least[0] = core.fits(x) ? Math.min(least[0], core.cost(x)) : least[0]);
            TreeDual dual = dual(core);
            for (int step = 0; step < 100 && !dual.settled(); step++) {
                assertThat(dual.step()).as("-Dseed=%d, step %d", seed, step).isLessThanOrEqualTo(least[0] + 1e-6);
            }
            double known = core.cost(best);
            boolean[][] keep = dual.worthKeeping(known, best);
            long named = seed;
            RandomProblems.everyChoice(core, x -> {
                for (int v = 0; v < core.size && core.fits(x) && core.cost(x) < known; v++) {
                    assertThat(keep[v][x[v]])
                            .as("-Dseed=%d, value %d of %d", named, x[v], v)
                            .isTrue();
                }
            });
            compared++;
        }
        assertThat(compared).isGreaterThan(20);
    }

    /** Thirty limits that bind at once, each for 20 things to keep or to drop: the best bound of each is a fraction of a thing away. */
    @Test
    void manyRowsThatBindTogetherGetTheirBestPrices() {
        StrategyProblem.Builder builder = StrategyProblem.builder("bags");
        SplittableRandom random = new SplittableRandom(3);
        int bags = 30;
        int things = 20;
        double expected = 0;
        for (int b = 0; b < bags; b++) {
            double[] perUnit = new double[things];
            long[] cost = new long[things];
            long[] usage = new long[things];
            long all = 0;
            int before = -1;
            for (int t = 0; t < things; t++) {
                cost[t] = random.nextLong(1_000, 100_000);
                usage[t] = random.nextLong(10, 1_000);
                perUnit[t] = (double) cost[t] / usage[t];
                all += usage[t];
                int node = builder.node(2L * b, 2L * b + 1, new long[] {0, cost[t]}, new long[] {usage[t], 0});
                if (before >= 0) {
                    // Costs nothing, but joins them, so that no thing can be decided by itself.
                    builder.edge(before, node, new long[] {0, 1, 1, 0});
                }
                before = node;
            }
            long excess = all - LIMIT;
            while (excess > 0) {
                int cheapest = -1;
                for (int t = 0; t < things; t++) {
                    cheapest = usage[t] > 0 && (cheapest < 0 || perUnit[t] < perUnit[cheapest]) ? t : cheapest;
                }
                expected += perUnit[cheapest] * Math.min(excess, usage[cheapest]);
                excess -= usage[cheapest];
                usage[cheapest] = 0;
            }
        }
        builder.usageLimit(LIMIT);
        Core core = Objects.requireNonNull(RandomProblems.reduced(builder.build()));
        TreeDual dual = dual(core);
        int steps = 0;
        while (steps < 100 && !dual.settled()) {
            double unused = dual.step();
            steps++;
        }
        // The edges cost some 1 for each change on the way.
        assertThat(dual.best()).isCloseTo(expected, offset(bags * things + 1e-3 * expected));
    }

    private static final long LIMIT = 4_000;
}
