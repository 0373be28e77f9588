package dev.drover.solver;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** The parts of which the improvement is made: which variables are freed, drawn values, good choices kept for crossing. */
class ImprovementPartsTest {
    private static Core core(long seed) {
        Core core = Reducer.reduce(RandomProblems.problem(seed), Set.of(SolveOptions.Technique.MERGE))
                .core();
        return core == null || core.size == 0 ? core(seed + 1000) : core;
    }

    private static Budget endless() {
        return new Budget(Long.MAX_VALUE, () -> 0, SolveOptions.UNLIMITED_WORK);
    }

    private static int[] randomValues(Core core, SplittableRandom random) {
        int[] x = new int[core.size];
        for (int v = 0; v < x.length; v++) {
            x[v] = random.nextInt(core.domain[v]);
        }
        return x;
    }

    @Test
    void aBallHasNoVariableTwiceAndNeverMoreThanAskedFor() {
        for (long seed = RandomProblems.firstSeed(), i = 0; i < RandomProblems.seeds(200); i++, seed++) {
            Core core = core(seed);
            SplittableRandom random = new SplittableRandom(seed);
            FreeSets sets = new FreeSets(core, random);
            int[] x = randomValues(core, random);
            for (int trial = 0; trial < 10; trial++) {
                int size = 1 + random.nextInt(core.size);
                int row = core.rows == 0 ? -1 : random.nextInt(core.rows + 1) - 1;
                int[] ball = sets.ball(size, 1 + random.nextInt(6), row, x);
                assertThat(ball).as("seed %d", seed).hasSizeBetween(1, size).doesNotHaveDuplicates();
                assertThat(Arrays.stream(ball).allMatch(v -> v >= 0 && v < core.size))
                        .isTrue();
            }
        }
    }

    @Test
    void mostBallsBeginAtTheFocus() {
        Core core = core(3);
        FreeSets sets = new FreeSets(core, new SplittableRandom(1));
        int[] x = new int[core.size];
        sets.focusOn(new int[] {core.size - 1});
        int there = 0;
        for (int trial = 0; trial < 200; trial++) {
            there += sets.ball(1, 1, -1, x)[0] == core.size - 1 ? 1 : 0;
        }
        assertThat(there).isBetween(150, 200);
    }

    @Test
    void theDifferenceIsWhereTwoChoicesDisagree() {
        Core core = core(5);
        FreeSets sets = new FreeSets(core, new SplittableRandom(1));
        SplittableRandom random = new SplittableRandom(2);
        int[] x = randomValues(core, random);
        int[] y = randomValues(core, random);
        Set<Integer> expected = new HashSet<>();
        for (int v = 0; v < core.size; v++) {
            if (x[v] != y[v]) {
                expected.add(v);
            }
        }
        assertThat(sets.difference(x, y))
                .containsExactlyInAnyOrder(
                        expected.stream().mapToInt(Integer::intValue).toArray());
        assertThat(sets.difference(x, x)).isEmpty();
    }

    @Test
    void drawnValuesFitAndColdDrawsAreTheCheapest() {
        int drawn = 0;
        int cheapest = 0;
        for (long seed = RandomProblems.firstSeed(), i = 0; i < RandomProblems.seeds(200); i++, seed++) {
            Core core = core(seed);
            SplittableRandom random = new SplittableRandom(seed);
            LocalSearch local = new LocalSearch(core, endless(), () -> false);
            int[] x = randomValues(core, random);
            if (!core.fits(x) || core.cost(x) == Double.POSITIVE_INFINITY) {
                continue;
            }
            long[] usage = core.usage(x);
            int[] all = new int[core.size];
            Arrays.setAll(all, v -> v);
            Elimination plan = Elimination.plan(core, all, 1 << 20, 1 << 20, random);
            for (double temperature : new double[] {1000, 10, 1e-6}) {
                int[] before = x.clone();
                boolean changed = local.draw(plan, x, usage, new double[core.rows], temperature, random);
                assertThat(core.fits(x)).as("seed %d", seed).isTrue();
                assertThat(core.cost(x)).as("seed %d", seed).isLessThan(Double.POSITIVE_INFINITY);
                assertThat(usage).as("seed %d", seed).isEqualTo(core.usage(x));
                if (!changed) {
                    assertThat(x).as("seed %d", seed).isEqualTo(before);
                } else {
                    drawn++;
                    if (core.rows == 0 && temperature < 1) {
                        int[] best = new int[core.size];
                        double[][] theta = core.unary.clone();
                        double least = plan.minimize(theta, best);
                        assertThat(core.cost(x) - core.constant)
                                .as("seed %d", seed)
                                .isEqualTo(least);
                        cheapest++;
                    }
                }
            }
        }
        assertThat(drawn).isGreaterThan(100);
        assertThat(cheapest).isGreaterThan(10);
    }

    @Test
    void eliteChoicesAreTheCheapestOnesOffered() {
        Elites elites = new Elites();
        SplittableRandom random = new SplittableRandom(1);
        assertThat(elites.any(random)).isNull();
        for (int cost = 100; cost > 0; cost--) {
            int[] x = {cost};
            elites.offer(x, cost);
            elites.offer(x, cost);
            x[0] = -1;
        }
        assertThat(elites.count()).isEqualTo(8);
        for (int trial = 0; trial < 50; trial++) {
            int[] one = elites.any(random);
            assertThat(one).isNotNull();
            if (one != null) {
                assertThat(one[0]).isBetween(1, 8);
                one[0] = 77;
            }
        }
    }
}
