package dev.drover.runtime.launch;

import java.io.IOException;
import java.io.InputStream;

/** In a child: ends this process when the parent is gone. The parent holds the other end of the standard input and never writes. */
public final class ParentWatch {

    /** Exit code of a worker whose parent is gone. */
    public static final int PARENT_GONE = 4;

    private ParentWatch() {}

    /** Starts to watch, in a thread of its own that also works while all others are stuck in native code. */
    public static void start() {
        Thread thread = new Thread(() -> waitFor(System.in), "parent-watch");
        thread.setDaemon(true);
        thread.start();
    }

    private static void waitFor(InputStream parent) {
        try {
            while (parent.read() >= 0) {
                // Nothing is expected; only the end matters.
            }
        } catch (IOException e) {
            // As good as the end.
        }
        Runtime.getRuntime().halt(PARENT_GONE);
    }
}
