package dev.drover.backend.torch;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.bytedeco.javacpp.Loader;
import org.bytedeco.pytorch.global.torch;

/**
 * Loads libtorch once per process. Processes that unpack the natives at the same time into a cold cache crash, so a file lock
 * beside the cache serialises them.
 */
public final class LibTorch {
    private LibTorch() {}

    private static final class Loaded {
        static final boolean DONE = loadLocked();
    }

    private static final class OneDnn {
        static final boolean LOADED = Loaded.DONE && loadOneDnn();
    }

    /** Whether there is a oneDNN beside the one inside of libtorch, which cannot be called. */
    public static boolean hasOneDnn() {
        return OneDnn.LOADED;
    }

    private static boolean loadOneDnn() {
        try {
            Loader.load(org.bytedeco.dnnl.global.dnnl.class);
            return true;
        } catch (UnsatisfiedLinkError | NoClassDefFoundError missing) {
            return false;
        }
    }

    /** Makes sure that the natives are loaded. */
    public static boolean load() {
        return Loaded.DONE;
    }

    /** Sets the threads of libtorch's own kernels and of OpenBLAS, which does not follow libtorch's setting. */
    public static void setThreads(int threads) {
        load();
        torch.set_num_threads(threads);
        org.bytedeco.openblas.global.openblas_nolapack.blas_set_num_threads(threads);
    }

    private static boolean loadLocked() {
        try {
            Path folder = Loader.getCacheDir().toPath();
            Files.createDirectories(folder);
            try (FileChannel channel = FileChannel.open(
                            folder.resolve("drover.lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
                    FileLock lock = channel.lock()) {
                Loader.load(torch.class);
                Loader.load(org.bytedeco.openblas.global.openblas_nolapack.class);
                loadOneDnn();
                return lock.isValid();
            }
        } catch (IOException e) {
            throw new UncheckedIOException("The cache folder of the native libraries must be writable.", e);
        }
    }
}
