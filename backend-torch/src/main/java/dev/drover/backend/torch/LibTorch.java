package dev.drover.backend.torch;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.StandardOpenOption;
import org.bytedeco.javacpp.Loader;
import org.bytedeco.pytorch.global.torch;

/**
 * Loads libtorch once per process. The first process on a machine unpacks the natives to a cache, under a file lock, since processes that
 * unpack at the same time crash. To find them JavaCPP looks for some thirty libraries of CUDA in all of the class path, 1.4 s of
 * processor time; so what it has found is written beside the cache ({@link LoadedLibraries}), from where later processes load it.
 */
public final class LibTorch {
    private LibTorch() {}

    private static final class Loaded {
        static final boolean DONE = loadOnce();
    }

    /** Whether there is a oneDNN beside the one inside of libtorch, which cannot be called. */
    public static boolean hasOneDnn() {
        return Loaded.DONE && OneDnn.LOADED;
    }

    private static final class OneDnn {
        static final boolean LOADED = loadOneDnn();
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

    private static boolean loadOnce() {
        try {
            LoadedLibraries known = LoadedLibraries.of(Loader.getCacheDir().toPath());
            if (known.load()) {
                return true;
            }
            try (FileChannel channel =
                            FileChannel.open(known.lockFile(), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
                    FileLock lock = channel.lock()) {
                if (known.load()) {
                    // Who held the lock before has found them.
                    return true;
                }
                Loader.load(torch.class);
                Loader.load(org.bytedeco.openblas.global.openblas_nolapack.class);
                boolean unused = OneDnn.LOADED;
                known.write(Loader.getLoadedLibraries().values());
                return lock.isValid();
            }
        } catch (IOException e) {
            throw new UncheckedIOException("The cache folder of the native libraries must be writable.", e);
        }
    }
}
