package dev.drover.plan.task;

/**
 * How far communication runs from the compute lane of a worker: sends and receives in tasks of their kind, each of which holds a
 * buffer, collectives in instructions of a program.
 */
public final class Lookahead {
    /** Receives that are posted before the compute lane comes to them. */
    public static final int RECEIVES = 2;
    /** Sends under way: before one more is started, the oldest must have left. */
    public static final int SENDS = 4;

    /**
     * Collectives of a program under way. Each begins at its place in the program and ends before the first use of a result, at the end of
     * the program at the latest; before one more begins, the oldest must have ended.
     */
    public static final int COLLECTIVES = 2;

    private Lookahead() {}
}
