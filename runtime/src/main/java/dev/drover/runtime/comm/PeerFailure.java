package dev.drover.runtime.comm;

import java.io.Serial;

/** A collective or transfer could not end because another worker is gone or did not answer. Mostly the echo of a failure elsewhere. */
public final class PeerFailure extends RuntimeException {
    @Serial
    private static final long serialVersionUID = 1L;

    public PeerFailure(String message, Throwable cause) {
        super(message, cause);
    }
}
