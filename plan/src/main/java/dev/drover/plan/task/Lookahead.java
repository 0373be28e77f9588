package dev.drover.plan.task;

/** How far the send and receive lanes of a worker run from its compute lane, in tasks of their kind. Each holds a buffer. */
public final class Lookahead {
    /** Receives that are posted before the compute lane comes to them. */
    public static final int RECEIVES = 2;
    /** Sends under way: before one more is started, the oldest must have left. */
    public static final int SENDS = 4;

    private Lookahead() {}
}
