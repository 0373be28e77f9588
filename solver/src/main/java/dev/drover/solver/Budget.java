package dev.drover.solver;

import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;

/**
 * When to end: by the clock, and by an amount of work that is the same on every machine.
 *
 * <p>A unit of work is one entry of a table that is read or made, about three nanoseconds. With a limit of work the parts of the search also
 * compare themselves by work instead of time, so that nothing that they do depends on the machine.
 */
final class Budget {
    private final long endNanos;
    private final LongSupplier nanoClock;
    private final long workLimit;
    private final LongAdder work = new LongAdder();

    Budget(long endNanos, LongSupplier nanoClock, long workLimit) {
        this.endNanos = endNanos;
        this.nanoClock = nanoClock;
        this.workLimit = workLimit;
    }

    /** Whether the amount of work is limited, so that the same problem must get the same answer. */
    boolean deterministic() {
        return workLimit != Long.MAX_VALUE;
    }

    void spend(long entries) {
        work.add(entries);
    }

    boolean over() {
        return (deterministic() && work.sum() >= workLimit) || nanoClock.getAsLong() - endNanos >= 0;
    }

    /** What parts compare themselves by: nanoseconds, or units of work if these are limited. */
    long now() {
        return deterministic() ? work.sum() : System.nanoTime();
    }
}
