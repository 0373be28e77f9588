package dev.drover.plan.sim;

/** What a lane of a worker does from one time to another; {@code microBatch} is -1 for work of the whole step. */
public record Span(int rank, Lane lane, String label, int microBatch, double startNanos, double endNanos) {

    /** What works at the same time on one device. */
    public enum Lane {
        COMPUTE,
        SEND,
        RECEIVE
    }

    public double nanos() {
        return endNanos - startNanos;
    }
}
