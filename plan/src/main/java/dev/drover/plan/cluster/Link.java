package dev.drover.plan.cluster;

import dev.drover.ir.UserError;

/**
 * How bytes move: {@code latencyNanos + bytes / bytesPerSecond}, each direction by itself.
 *
 * @param shared whether all devices of a host share the bandwidth (a network card, a memory bus); otherwise each device has it
 *     (NVLink)
 */
public record Link(double bytesPerSecond, long latencyNanos, boolean shared) {
    public Link {
        if (!(bytesPerSecond > 0)) {
            throw new UserError("The bytesPerSecond (" + bytesPerSecond + ") of a link must be above 0.");
        }
        if (latencyNanos < 0) {
            throw new UserError("The latencyNanos (" + latencyNanos + ") of a link must be at least 0.");
        }
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
