package dev.drover.runtime.comm;

/** A send, a receive or a collective under way. Its buffers must not be touched before {@link #await} has returned. */
public interface Transfer {

    /** Nothing to wait for. */
    Transfer DONE = () -> {};

    /**
     * Waits for the end, at most as long as the communicator's time-out, and does what is left to do. To be called once.
     *
     * @throws PeerFailure when the peer is gone or did not answer in time
     */
    void await();
}
