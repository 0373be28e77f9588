package dev.drover.backend.torch.comm;

import org.bytedeco.pytorch.Store;
import org.bytedeco.pytorch.TCPStore;

/** The meeting point of the data plane, in the process of rank 0. */
public final class GlooRendezvous implements AutoCloseable {

    private static final long TIMEOUT_MILLIS = 60_000;

    private final int port;
    private final Store store;

    public GlooRendezvous(String host) {
        Rendezvous.load();
        TCPStore raw = Rendezvous.serve(host, TIMEOUT_MILLIS);
        this.port = Rendezvous.port(raw);
        this.store = Rendezvous.share(raw);
    }

    public int port() {
        return port;
    }

    @Override
    public void close() {
        store.close();
    }
}
