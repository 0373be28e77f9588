package dev.drover.solver;

/** From the values of a core's variables back to the strategies of the problem's nodes. */
@FunctionalInterface
interface Expansion {
    /** Returns the strategy of each node. */
    int[] strategies(int[] x);
}
