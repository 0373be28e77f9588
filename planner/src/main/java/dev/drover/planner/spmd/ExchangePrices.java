package dev.drover.planner.spmd;

import dev.drover.ir.graph.Instruction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.plan.mesh.Mesh;
import dev.drover.plan.sharding.CollectiveCost;
import dev.drover.plan.sharding.CollectiveKind;
import dev.drover.plan.sharding.Resharder;
import dev.drover.plan.sharding.Sharding;
import dev.drover.plan.stage.Total;
import dev.drover.plan.task.CollectiveBuckets;

/**
 * What it takes to bring a value from the sharding in which it is made to the one in which it is needed, by itself or joined with others.
 * Sums that are not needed soon, and new parameters that go back to their places, are put together ({@link CollectiveBuckets}): of
 * the latency of such an exchange each pays the part that its bytes are of a bucket.
 */
final class ExchangePrices {
    private final Resharder alone;
    private final Resharder joined;

    /** How a value comes to where it is needed. */
    enum Way {
        /** To a user that waits for it, by itself. */
        SOON,
        /** To a user so late that a sum of it is joined with others, or after all micro-batches together with others. */
        LATE,
        /** From where a new state is made to where the old one was. */
        BACK;

        static Way of(Instruction producer, Instruction user) {
            boolean late = user.op() instanceof Total || user.id() - producer.id() > CollectiveBuckets.SOON;
            return late ? LATE : SOON;
        }
    }

    ExchangePrices(Resharder alone) {
        this.alone = alone;
        CollectiveCost cost = alone.cost();
        this.joined = new Resharder(alone.mesh(), new CollectiveCost() {
            @Override
            public double nanos(CollectiveKind kind, int axis, long sizeBytes) {
                return joinedNanos(cost, kind, axis, sizeBytes);
            }

            @Override
            public double localNanos(long sizeBytes) {
                return cost.localNanos(sizeBytes);
            }
        });
    }

    private static double joinedNanos(CollectiveCost cost, CollectiveKind kind, int axis, long bytes) {
        long bucket = CollectiveBuckets.FIRST_BYTES;
        boolean joins = kind == CollectiveKind.ALL_REDUCE
                || kind == CollectiveKind.REDUCE_SCATTER
                || kind == CollectiveKind.ALL_GATHER;
        return joins && bytes < bucket
                ? Math.min(cost.nanos(kind, axis, bytes), cost.nanos(kind, axis, bucket) * bytes / bucket)
                : cost.nanos(kind, axis, bytes);
    }

    Mesh mesh() {
        return alone.mesh();
    }

    Resharder resharder() {
        return alone;
    }

    /** Nanoseconds from the sharding that was made to the one that is needed. */
    double nanos(ArrayShape shape, Sharding made, Sharding needed, Way way) {
        boolean joins = way == Way.BACK || (way == Way.LATE && made.hasPartial());
        return (joins ? joined : alone).nanos(shape, made, needed);
    }
}
