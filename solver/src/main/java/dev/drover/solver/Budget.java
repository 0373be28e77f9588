package dev.drover.solver;

import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;

/**
 * When to end: by the clock, and by an amount of work that is the same on every machine; at once when the thread that made it is
 * interrupted.
 *
 * <p>A unit of work is one entry of a table that is read or made, about three nanoseconds. With a limit of work the parts of the search also
 * compare themselves by work instead of time, so that nothing that they do depends on the machine.
 */
final class Budget {
    private final long endNanos;
    private final LongSupplier nanoClock;
    private final long workLimit;
    private final Thread owner = Thread.currentThread();
    private final LongAdder work = new LongAdder();
    private volatile boolean cancelled;

    /** Thrown where the time ends in the middle of something that has no result yet. */
    static final class Late extends RuntimeException {
        private static final long serialVersionUID = 1;

        private Late() {
            super("The time is over.", null, false, false);
        }
    }

    Budget(long endNanos, LongSupplier nanoClock, long workLimit) {
        this.endNanos = endNanos;
        this.nanoClock = nanoClock;
        this.workLimit = workLimit;
    }

    /** A budget that never ends by itself. */
    static Budget endless() {
        return new Budget(Long.MAX_VALUE, () -> 0, Long.MAX_VALUE);
    }

    /** Whether the amount of work is limited, so that the same problem must get the same answer. */
    boolean deterministic() {
        return workLimit != Long.MAX_VALUE;
    }

    void spend(long entries) {
        work.add(entries);
    }

    /** All work so far. */
    long spent() {
        return work.sum();
    }

    boolean over() {
        return (deterministic() && work.sum() >= workLimit) || late();
    }

    /** Whether the time is over, whatever work is left. */
    boolean late() {
        return cancelled || nanoClock.getAsLong() - endNanos >= 0 || owner.isInterrupted();
    }

    /** What is left: nanoseconds, or units of work if these are limited. */
    long left() {
        return deterministic() ? workLimit - work.sum() : endNanos - nanoClock.getAsLong();
    }

    /** Ends the time now. */
    void cancel() {
        cancelled = true;
    }

    /** Throws {@link Late} if the time is over: for work that is of no use half done. */
    void check() {
        if (late()) {
            throw new Late();
        }
    }

    /** What parts compare themselves by: nanoseconds, or units of work if these are limited. */
    long now() {
        return deterministic() ? work.sum() : System.nanoTime();
    }
}
