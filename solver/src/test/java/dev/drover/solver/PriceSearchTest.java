package dev.drover.solver;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class PriceSearchTest {
    private static final int ASKED = 40;

    /** Lines whose least one is the function: concave, as a bound is in a price. */
    private static final class Lines {
        private final double[] height;
        private final double[] slope;

        Lines(double[] height, double[] slope) {
            this.height = height;
            this.slope = slope;
        }

        private static Lines random(long seed) {
            SplittableRandom random = new SplittableRandom(seed);
            double[] slope = random.doubles(random.nextInt(2, 9), -1000, 1000).toArray();
            slope[0] = 500 + random.nextDouble() * 500;
            slope[1] = -slope[0];
            double[] height = new double[slope.length];
            for (int i = 0; i < slope.length; i++) {
                // Rising lines are low at 0, falling ones high: the greatest value is at a price above 0.
                height[i] = 1e6 - slope[i] * random.nextDouble(0.5, 2);
            }
            return new Lines(height, slope);
        }

        private int least(double price) {
            int least = 0;
            for (int i = 1; i < slope.length; i++) {
                least = at(i, price) < at(least, price) ? i : least;
            }
            return least;
        }

        private double at(int i, double price) {
            return height[i] + slope[i] * price;
        }

        private double greatest() {
            double greatest = at(least(0), 0);
            for (int i = 0; i < slope.length; i++) {
                for (int j = 0; j < i; j++) {
                    double meet = (height[i] - height[j]) / (slope[j] - slope[i]);
                    greatest = meet > 0 ? Math.max(greatest, at(least(meet), meet)) : greatest;
                }
            }
            return greatest;
        }
    }

    /** With exact slopes, and with slopes whose size says nothing. */
    @Test
    void theBestPriceIsFoundUpToTheWorthOfAFurtherOne() {
        for (long seed = RandomProblems.firstSeed(), i = 0; i < RandomProblems.seeds(300); i++, seed++) {
            Lines lines = Lines.random(seed);
            for (boolean exact : new boolean[] {true, false}) {
                PriceSearch search = new PriceSearch();
                double price = 0;
                double best = Double.NEGATIVE_INFINITY;
                int asked = 0;
                while (!Double.isNaN(price) && asked < ASKED) {
                    int line = lines.least(price);
                    best = Math.max(best, lines.at(line, price));
                    search.answer(price, lines.at(line, price), lines.slope[line] * (exact ? 1 : 3), exact);
                    price = search.next(0.1, 0.5);
                    asked++;
                }
                String rerun = "rerun with -Dseed=" + seed + (exact ? ", exact" : ", hints");
                assertThat(asked).as(rerun).isLessThan(ASKED);
                // Prices closer than a part in 250 are not told apart.
                assertThat(best).as(rerun).isGreaterThanOrEqualTo(lines.greatest() - 20);
            }
        }
    }

    @Test
    void aFunctionThatFallsFromTheStartIsBestAtZero() {
        PriceSearch search = new PriceSearch();
        search.answer(0, 100, -5, true);
        assertThat(search.next(1, 0.5)).isNaN();
    }
}
