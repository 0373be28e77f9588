package dev.drover.cli;

import dev.drover.ir.UserError;
import dev.drover.runtime.coordinator.Cluster;
import dev.drover.runtime.launch.LocalLauncher;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ServerSocket;
import org.jspecify.annotations.Nullable;

/**
 * The port of a coordinator, kept from before the planning until the coordinator listens, so that one in use is told at once and that no other
 * run takes it meanwhile.
 *
 * @param held null for a port that is any
 */
record PortClaim(int port, @Nullable ServerSocket held) implements AutoCloseable {
    /** A port that is found when it is needed. */
    static final PortClaim ANY = new PortClaim(0, null);

    /** Fails with {@link UserError} if a coordinator could not listen there. */
    static PortClaim of(int port) {
        return port == 0 ? ANY : new PortClaim(port, Cluster.hold(LocalLauncher.LOOPBACK, port));
    }

    /** The port, for a coordinator that listens now. */
    int release() {
        close();
        return port;
    }

    @Override
    public void close() {
        try {
            if (held != null) {
                held.close();
            }
        } catch (IOException e) {
            throw new UncheckedIOException("The port (" + port + ") must be one that can be given back.", e);
        }
    }
}
