package dev.drover.solver;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class MixtureTest {
    @Test
    void theBestMixtureOfAFewChoicesIsFoundUnderTheLimits() {
        int mixed = 0;
        int best = 0;
        long first = RandomProblems.firstSeed();
        for (long seed = first; seed < first + RandomProblems.seeds(300); seed++) {
            Core core = RandomProblems.condensed(seed);
            if (core == null) {
                continue;
            }
            List<int[]> fitting = new ArrayList<>();
            RandomProblems.everyChoice(core, x -> {
                if (core.cost(x) < Double.POSITIVE_INFINITY && core.fits(x)) {
                    fitting.add(x.clone());
                }
            });
            if (fitting.size() < 3) {
                continue;
            }
            SplittableRandom random = new SplittableRandom(seed);
            List<int[]> some = List.of(
                    fitting.get(random.nextInt(fitting.size())),
                    fitting.get(random.nextInt(fitting.size())),
                    fitting.get(random.nextInt(fitting.size())));
            double least = Double.POSITIVE_INFINITY;
            for (int[] x : fitting) {
                boolean within = true;
                for (int v = 0; v < x.length; v++) {
                    int value = x[v];
                    int at = v;
                    within &= some.stream().anyMatch(y -> y[at] == value);
                }
                least = within ? Math.min(least, core.cost(x)) : least;
            }
            int[] found = new Mixture(core, some)
                    .best(some.get(0), new double[core.rows], 8000, random, Budget.endless(), () -> false);
            String rerun = "-Dseed=" + seed;
            assertThat(core.fits(found)).as(rerun).isTrue();
            assertThat(core.cost(found)).as(rerun).isBetween(least, core.cost(some.get(0)));
            mixed++;
            best += core.cost(found) == least ? 1 : 0;
        }
        System.out.println("mixtures: " + mixed + ", best ones found " + best);
        assertThat(best).isGreaterThanOrEqualTo(mixed);
    }
}
