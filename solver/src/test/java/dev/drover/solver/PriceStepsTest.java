package dev.drover.solver;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.Objects;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** Of thousands of overfull times with nearly the same variables a few get prices: with all of them the bound rises slowly. */
class PriceStepsTest {
    private static final int LAYERS = 400;
    private static final int WINDOW = 100;

    /** A window of layers is alive at each time: all times are overfull. */
    private static Core window() {
        SplittableRandom random = new SplittableRandom(5);
        StrategyProblem.Builder builder = StrategyProblem.builder("window");
        int before = -1;
        for (int i = 0; i < LAYERS; i++) {
            long[] costs = new long[6];
            long[] sizes = new long[6];
            for (int k = 0; k < costs.length; k++) {
                costs[k] = 1000L * k + random.nextLong(400);
                sizes[k] = 64L - 10L * k + random.nextLong(4);
            }
            int node = builder.node(i, i + WINDOW, costs, sizes);
            if (before >= 0) {
                builder.edge(before, node, random.longs(36L, 0, 900).toArray());
            }
            before = node;
        }
        builder.usageLimit(20L * WINDOW);
        Core core = RandomProblems.reduced(builder.build());
        return Objects.requireNonNull(core);
    }

    @Test
    void fewRowsGetPricesAndTheBoundComesNearTheDecodedChoices() {
        Core core = window();
        DualBound dual = new DualBound(core, Budget.endless());
        double least = Double.POSITIVE_INFINITY;
        for (int sweep = 0; sweep < 300; sweep++) {
            double bound = dual.sweep();
            least = core.fits(dual.decoded) ? Math.min(least, core.cost(dual.decoded)) : least;
            dual.step(bound, least);
        }
        long priced = Arrays.stream(dual.bestPrice()).filter(p -> p > 0).count();
        System.out.println(
                "window: " + core.rows + " rows, " + priced + " priced, bound " + dual.best() + " of " + least);
        assertThat(priced).isBetween(1L, 120L);
        assertThat(dual.best()).isBetween(0.97 * least, least);
    }
}
