package dev.drover.solver;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.Objects;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class SurplusTest {
    /** By value, the least cost of all choices with it less the least cost of all, by trying all. */
    private static double[][] byTrying(Core core) {
        double[][] least = new double[core.size][];
        for (int v = 0; v < core.size; v++) {
            least[v] = new double[core.domain[v]];
            Arrays.fill(least[v], Double.POSITIVE_INFINITY);
        }
        RandomProblems.everyChoice(core, x -> {
            double cost = core.cost(x);
            for (int v = 0; v < core.size; v++) {
                least[v][x[v]] = Math.min(least[v][x[v]], cost);
            }
        });
        // Each choice has a value of the first variable.
        double best = Arrays.stream(least[0]).min().orElseThrow();
        for (double[] row : least) {
            for (int k = 0; k < row.length; k++) {
                row[k] -= best;
            }
        }
        return least;
    }

    @Test
    void theSurplusOfEachValueIsThatOfTheBestChoiceWithIt() {
        int compared = 0;
        for (long seed = RandomProblems.firstSeed(), i = 0; i < RandomProblems.seeds(300); i++, seed++) {
            Core core = RandomProblems.condensed(seed);
            if (core == null) {
                continue;
            }
            Elimination tree = Objects.requireNonNull(
                    Elimination.whole(core, 1 << 20, 1 << 22, new SplittableRandom(seed), Budget.endless()));
            double total = tree.collect(core.unary, new int[core.size]);
            if (total == Double.POSITIVE_INFINITY) {
                continue;
            }
            assertThat(tree.surplus()).as("rerun with -Dseed=" + seed).isDeepEqualTo(byTrying(core));
            compared++;
        }
        assertThat(compared).isPositive();
    }

    @Test
    void whatWasCollectedBeforeIsWhatWasKept() {
        SplittableRandom random = new SplittableRandom(RandomProblems.firstSeed());
        CollectedBefore before = new CollectedBefore();
        int width = 7;
        int found = 0;
        double[] least = new double[width];
        for (int i = 0; i < 200_000; i++) {
            if (i % 1000 == 0) {
                before.beginSweep();
            }
            int number = random.nextInt(50);
            double[] message =
                    random.ints(number % 9, 0, 4).mapToDouble(m -> m / 8.0).toArray();
            // Stands for minima: a function of matrix and message.
            double expected = number + 1000 * Arrays.hashCode(message);
            if (before.find(number, 10_000, message, width, least)) {
                assertThat(least).containsOnly(expected);
                found++;
            } else {
                Arrays.fill(least, expected);
                before.keep(number, message, width, least);
            }
        }
        assertThat(found).isPositive();
    }
}
