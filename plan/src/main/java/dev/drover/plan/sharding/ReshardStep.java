package dev.drover.plan.sharding;

import org.jspecify.annotations.Nullable;

/**
 * One step between two shardings that differ in one axis.
 *
 * @param collective what is communicated, or null for a local step (slice, mask)
 * @param sizeBytes as in {@link CollectiveCost}
 */
public record ReshardStep(
        int axis, Sharding from, Sharding to, @Nullable CollectiveKind collective, long sizeBytes, double nanos) {}
