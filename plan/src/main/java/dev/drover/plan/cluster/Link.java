package dev.drover.plan.cluster;

import dev.drover.plan.Wanted;

/**
 * How bytes move: {@code latencyNanos + bytes / bytesPerSecond}, each direction by itself.
 *
 * @param shared whether all devices of a host share the bandwidth (a network card, a memory bus); otherwise each device has it
 *     (NVLink)
 */
public record Link(double bytesPerSecond, long latencyNanos, boolean shared) {
    public Link {
        Wanted.speed("bytesPerSecond", bytesPerSecond, "a link");
        Wanted.nanos("latencyNanos", (double) latencyNanos, "a link");
    }

    /** Time of one message alone on the link. */
    public double nanos(long bytes) {
        return latencyNanos + bytes * 1e9 / bytesPerSecond;
    }

    /** The same with another bandwidth. */
    public Link withBytesPerSecond(double other) {
        return new Link(other, latencyNanos, shared);
    }
}
