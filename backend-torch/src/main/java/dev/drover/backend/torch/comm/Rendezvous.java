package dev.drover.backend.torch.comm;

import dev.drover.backend.torch.LibTorch;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.bytedeco.javacpp.Loader;
import org.bytedeco.javacpp.chrono.Milliseconds;
import org.bytedeco.pytorch.PrefixStore;
import org.bytedeco.pytorch.Store;
import org.bytedeco.pytorch.TCPStore;
import org.bytedeco.pytorch.TCPStoreOptions;
import org.bytedeco.pytorch.global.torch_gloo;

/** The key-value store over which workers find each other's addresses. Its server lives in rank 0. */
final class Rendezvous {

    private Rendezvous() {}

    /** Loads libtorch with Gloo, one process at a time: two that unpack at once crash. */
    static void load() {
        LibTorch.load();
        try {
            Path lockFile = Loader.getCacheDir().toPath().resolve("drover-gloo.lock");
            try (FileChannel channel = FileChannel.open(lockFile, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
                    FileLock lock = channel.lock()) {
                assert lock.isValid();
                Loader.load(torch_gloo.class);
            }
        } catch (IOException e) {
            throw new UncheckedIOException("The cache folder of the native libraries must be writable.", e);
        }
    }

    /** A server on a free port. */
    static TCPStore serve(String host, long timeoutMillis) {
        return open(host, 0, true, timeoutMillis);
    }

    static Store connect(String host, int port, long timeoutMillis) {
        return share(open(host, port, false, timeoutMillis));
    }

    private static TCPStore open(String host, int port, boolean server, long timeoutMillis) {
        TCPStoreOptions options = new TCPStoreOptions();
        options.port((short) port);
        options.isServer(server);
        options.waitWorkers(false);
        options.timeout(new Milliseconds(timeoutMillis));
        return new TCPStore(host, options);
    }

    static int port(TCPStore store) {
        return store.getPort() & 0xffff;
    }

    /** A view of the store in which all keys carry a prefix. */
    static Store prefixed(String prefix, Store shared) {
        return share(new PrefixStore(prefix, shared));
    }

    /**
     * Makes a fresh store safe to be used more than once. The constructors leave c10d's reference count at zero: handed to native
     * code twice, the process aborts. Passing it through another store gives a reference that holds a count; the first, raw
     * deleter is dropped. To be called once, outside any pointer scope.
     */
    static Store share(Store raw) {
        PrefixStore carrier = new PrefixStore("", raw);
        Store shared = carrier.getUnderlyingStore();
        raw.deallocate(false);
        carrier.close();
        return shared;
    }
}
