package dev.drover.solver;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class DominanceTest {
    private static Dominance.Side side(int number, double... costs) {
        return new Dominance.Side(costs, number, true, 2);
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
}
