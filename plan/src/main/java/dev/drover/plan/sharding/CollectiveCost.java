package dev.drover.plan.sharding;

/** What the steps of resharding take: collectives along one mesh axis, and local ones. */
@FunctionalInterface
public interface CollectiveCost {

    /**
     * Time in nanoseconds.
     *
     * @param sizeBytes the larger of what a device gives and gets: its input for all-reduce, reduce-scatter and all-to-all, its
     *     output for all-gather
     */
    double nanos(CollectiveKind kind, int axis, long sizeBytes);

    /**
     * Time in nanoseconds of a step without a collective: the device cuts its part out of what it has, or keeps it on one device alone. It
     * must not look free, or paths would take detours through it.
     *
     * @param sizeBytes what the device has after it
     */
    default double localNanos(long sizeBytes) {
        return 1;
    }
}
