package dev.drover.solver;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Objects;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class PricedMinimumTest {
    /** Prices are rounded down by a part of 4,096 for each variable. */
    private static final double TOLERANCE = 0.01;

    private static double priced(Core core, double[] price, int[] x) {
        double cost = core.cost(x);
        long[] usage = core.usage(x);
        for (int r = 0; r < core.rows; r++) {
            cost += price[r] * (usage[r] - core.limit[r]);
        }
        return cost;
    }

    private static double least(Core core, double[] price) {
        double[] least = {Double.POSITIVE_INFINITY};
        RandomProblems.everyChoice(core, x -> least[0] = Math.min(least[0], priced(core, price, x)));
        return least[0];
    }

    /** By exact elimination at once, and by sweeps where tables may hardly have an entry. */
    @Test
    void theBoundAndTheChoiceEncloseTheLeastPricedCost() {
        int compared = 0;
        int swept = 0;
        for (long seed = RandomProblems.firstSeed(), i = 0; i < RandomProblems.seeds(300); i++, seed++) {
            Core core = RandomProblems.condensed(seed);
            if (core == null) {
                continue;
            }
            double[] price = new SplittableRandom(seed).doubles(core.rows, 0, 3).toArray();
            double least = least(core, price);
            if (least == Double.POSITIVE_INFINITY) {
                continue;
            }
            String rerun = "rerun with -Dseed=" + seed;
            for (int mostEntries : new int[] {1 << 18, 1}) {
                PricedMinimum found = Objects.requireNonNull(
                        PricedMinimum.find(core, price, mostEntries > 1, Budget.endless(), mostEntries), rerun);
                double cost = priced(core, price, found.choice());
                assertThat(found.bound()).as(rerun).isLessThanOrEqualTo(least + 1e-6);
                assertThat(cost).as(rerun).isGreaterThanOrEqualTo(least - 1e-6);
                if (mostEntries > 1) {
                    assertThat(found.bound()).as(rerun).isGreaterThanOrEqualTo(least - TOLERANCE);
                    assertThat(cost).as(rerun).isLessThanOrEqualTo(least + TOLERANCE);
                    compared++;
                } else {
                    swept += cost <= least + TOLERANCE ? 1 : 0;
                }
            }
        }
        System.out.printf("priced minima: %d, by sweeps %d%n", compared, swept);
        assertThat(swept).isGreaterThanOrEqualTo(compared / 2);
    }
}
