package dev.drover.solver;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class DominanceTest {
    private static Dominance.Side side(int number, double... costs) {
        return Dominance.Side.ofRows(costs, Core.transposed(costs, costs.length / 2, 2), number, 2);
    }

    @Test
    void whatIsLostOnOneEdgeMayBeGainedOnAnother() {
        // Value 0 costs up to 3 more than value 1 on one edge and at least 4 less on the other, whatever the neighbours
        // do.
        Dominance.Side loses = side(0, 3, 2, 0, 0);
        Dominance.Side gains = side(1, 1, 0, 5, 9);
        boolean[] second = {false, true};
        double[] unary = {0, 0};
        assertThat(new Dominance(true).gone(unary, new long[0][], new Dominance.Side[] {loses, gains}))
                .isEqualTo(second);
        assertThat(new Dominance(true).gone(unary, new long[0][], new Dominance.Side[] {gains, loses}))
                .isEqualTo(second);
        assertThat(new Dominance(true).gone(new double[] {2, 0}, new long[0][], new Dominance.Side[] {gains, loses}))
                .isEqualTo(new boolean[] {false, false});
    }

    @Test
    void aValueThatUsesMoreDominatesNothing() {
        Dominance.Side side = side(0, 0, 0, 5, 9);
        assertThat(new Dominance(true).gone(new double[] {0, 0}, new long[][] {{2, 1}}, new Dominance.Side[] {side}))
                .isEqualTo(new boolean[] {false, false});
        assertThat(new Dominance(true).gone(new double[] {0, 0}, new long[][] {{1, 1}}, new Dominance.Side[] {side}))
                .isEqualTo(new boolean[] {false, true});
    }

    /** Against the definition: with several equal edges among the sides, and forbidden pairs. */
    @Test
    void whatGoesIsWhatTheDefinitionSays() {
        int dominated = 0;
        for (long seed = RandomProblems.firstSeed(), i = 0; i < RandomProblems.seeds(500); i++, seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            int width = random.nextInt(1, 6);
            double[][] matrices = new double[random.nextInt(1, 4)][];
            Dominance.Side[] known = new Dominance.Side[matrices.length];
            for (int m = 0; m < matrices.length; m++) {
                int others = random.nextInt(1, 4);
                matrices[m] = random.doubles((long) width * others)
                        .map(d -> d < 0.1 ? Double.POSITIVE_INFINITY : Math.floor(6 * d))
                        .toArray();
                double[] transposed = Core.transposed(matrices[m], width, others);
                known[m] = random.nextBoolean()
                        ? Dominance.Side.ofRows(matrices[m], transposed, m, others)
                        : Dominance.Side.ofColumns(transposed, matrices[m], m, width);
            }
            int[] edges = random.ints(random.nextInt(0, 6), 0, matrices.length).toArray();
            double[] unary = random.ints(width, 0, 8).asDoubleStream().toArray();
            long[][] usage = {random.longs(width, 0, 3).toArray()};
            Dominance.Side[] sides =
                    Arrays.stream(edges).mapToObj(m -> known[m]).toArray(Dominance.Side[]::new);
            boolean[] gone = new Dominance(true).gone(unary, usage, sides);
            for (int k = 0; k < width; k++) {
                boolean expected = isDead(matrices, edges, width, k);
                for (int better = 0; better < width && !expected; better++) {
                    // Those that went before do not count; equal values must not drop each other.
                    expected = better != k
                            && !(better < k && gone[better])
                            && !isDead(matrices, edges, width, better)
                            && usage[0][better] <= usage[0][k]
                            && unary[k] - unary[better] >= mostLost(matrices, edges, width, better, k);
                }
                assertThat(gone[k])
                        .as("value " + k + ", rerun with -Dseed=" + seed)
                        .isEqualTo(expected);
                dominated += expected ? 1 : 0;
            }
        }
        assertThat(dominated).isPositive();
    }

    private static boolean isDead(double[][] matrices, int[] edges, int width, int k) {
        return Arrays.stream(edges).anyMatch(e -> {
            int others = matrices[e].length / width;
            return Arrays.stream(matrices[e], k * others, (k + 1) * others)
                    .allMatch(cost -> cost == Double.POSITIVE_INFINITY);
        });
    }

    private static double mostLost(double[][] matrices, int[] edges, int width, int better, int worse) {
        double sum = 0;
        for (int e : edges) {
            int others = matrices[e].length / width;
            double most = Double.NEGATIVE_INFINITY;
            for (int o = 0; o < others; o++) {
                double cost = matrices[e][worse * others + o];
                if (cost != Double.POSITIVE_INFINITY) {
                    most = Math.max(most, matrices[e][better * others + o] - cost);
                }
            }
            sum += most;
        }
        return sum;
    }
}
