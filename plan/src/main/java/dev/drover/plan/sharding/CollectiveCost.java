package dev.drover.plan.sharding;

/** What a collective along one mesh axis takes. */
@FunctionalInterface
public interface CollectiveCost {

    /**
     * Time in nanoseconds.
     *
     * @param sizeBytes the larger of what a device gives and gets: its input for all-reduce, reduce-scatter and all-to-all, its
     *     output for all-gather
     */
    double nanos(CollectiveKind kind, int axis, long sizeBytes);
}
