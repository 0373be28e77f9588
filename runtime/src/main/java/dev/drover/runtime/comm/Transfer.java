package dev.drover.runtime.comm;

/** A send or receive under way. The buffer must not be touched before {@link #await} has returned. */
public interface Transfer {

    /**
     * Waits for the end, at most as long as the communicator's time-out.
     *
     * @throws PeerFailure when the peer is gone or did not answer in time
     */
    void await();
}
