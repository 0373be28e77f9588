package dev.drover.cli;

import java.util.function.Supplier;

/** What is told if a signal, such as that of Ctrl-C, ends the process before this is closed. */
final class LastWord implements AutoCloseable {
    private final Thread hook;

    LastWord(Supplier<String> line) {
        hook = new Thread(() -> Output.progress(line.get()), "drover-last-word");
        Runtime.getRuntime().addShutdownHook(hook);
    }

    /** Whether the process is being ended: what fails from then on fails because of that. */
    static boolean isDue() {
        Thread probe = new Thread(() -> {});
        try {
            Runtime.getRuntime().addShutdownHook(probe);
            Runtime.getRuntime().removeShutdownHook(probe);
            return false;
        } catch (IllegalStateException shutdown) {
            return true;
        }
    }

    @Override
    public void close() {
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException shutdown) {
            // It is being told.
            return;
        }
    }
}
