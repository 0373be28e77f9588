package dev.drover.plan.schedule;

/** A rule that makes schedules: one row of {@link Schedules#ALL}. */
public interface ScheduleKind {

    /** Name in plans and on the command line. */
    String name();

    /** The schedule for this many stages and micro-batches. */
    Schedule make(int stages, int microBatches);

    /** How many micro-batches a stage holds between forward and backward at most. */
    int inFlightBound(int stage, int stages, int microBatches);

    /**
     * Length of a step at zero latency, each stage taking {@code forward} and {@code backward} units per micro-batch: what the
     * literature states.
     */
    long closedFormLength(int stages, int microBatches, long forward, long backward);
}
