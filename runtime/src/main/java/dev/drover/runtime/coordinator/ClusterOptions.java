package dev.drover.runtime.coordinator;

import dev.drover.runtime.wire.Wire;
import java.time.Duration;

/**
 * How a cluster of workers is started and watched.
 *
 * @param workerMain name of the main class of a worker
 * @param port on which the coordinator listens; 0 for any that is free
 * @param startDeadline until all workers have registered; a cold start unpacks native libraries
 * @param callDeadline for one call that needs no other worker: put, fetch, load
 * @param stepDeadline for one step, and for making the communicators
 * @param livenessDeadline without a sign of life a worker is taken for dead
 * @param closeDeadline for workers to leave on their own; after it they are killed
 * @param pieceBytes most bytes of a tensor in a message; a multiple of 16
 */
public record ClusterOptions(
        String workerMain,
        int port,
        Duration startDeadline,
        Duration callDeadline,
        Duration stepDeadline,
        Duration livenessDeadline,
        Duration closeDeadline,
        int pieceBytes) {

    private static final int PIECE_BYTES = 8 << 20;

    /** Before the connection is given up, which would tell less. */
    private static final Duration LIVENESS = Wire.GIVEN_UP_AFTER.minusSeconds(5);

    public ClusterOptions {
        if (pieceBytes < 16 || pieceBytes % 16 != 0) {
            throw new IllegalArgumentException("The pieces (" + pieceBytes + " bytes) must be a multiple of 16 bytes.");
        }
    }

    public static ClusterOptions of(String workerMain) {
        return new ClusterOptions(
                workerMain,
                0,
                Duration.ofMinutes(5),
                Duration.ofMinutes(5),
                Duration.ofMinutes(10),
                LIVENESS,
                Duration.ofSeconds(5),
                PIECE_BYTES);
    }

    public ClusterOptions withPort(int newPort) {
        return new ClusterOptions(
                workerMain,
                newPort,
                startDeadline,
                callDeadline,
                stepDeadline,
                livenessDeadline,
                closeDeadline,
                pieceBytes);
    }

    public ClusterOptions withStepDeadline(Duration deadline) {
        return new ClusterOptions(
                workerMain, port, startDeadline, callDeadline, deadline, livenessDeadline, closeDeadline, pieceBytes);
    }

    public ClusterOptions withLivenessDeadline(Duration deadline) {
        return new ClusterOptions(
                workerMain, port, startDeadline, callDeadline, stepDeadline, deadline, closeDeadline, pieceBytes);
    }

    public ClusterOptions withPieceBytes(int bytes) {
        return new ClusterOptions(
                workerMain, port, startDeadline, callDeadline, stepDeadline, livenessDeadline, closeDeadline, bytes);
    }
}
