package dev.drover.cli;

import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/** Work that may take long: it is never silent for more than ten seconds. */
final class LongWork implements AutoCloseable {
    /** A little less, since it is looked at once a second. */
    private static final long MOST_SILENT_NANOS = 9_500_000_000L;
    /** From then on whoever has something to tell should not wait until it is told for him. */
    private static final long QUIET_NANOS = 8_000_000_000L;

    private final Consumer<String> lines;
    private final LongSupplier nanoTime;
    private final ScheduledExecutorService ticks = Executors.newSingleThreadScheduledExecutor(task -> {
        Thread thread = new Thread(task, "drover-long-work");
        thread.setDaemon(true);
        return thread;
    });
    private String doing;
    private long sinceNanos;
    private long lastNanos;

    /** With lines and a clock of its own, for tests, which call {@link #tick}. */
    LongWork(String doing, Consumer<String> lines, LongSupplier nanoTime) {
        this.lines = lines;
        this.nanoTime = nanoTime;
        this.doing = doing;
        this.sinceNanos = nanoTime.getAsLong();
        this.lastNanos = sinceNanos;
    }

    /**
     * Begins some.
     *
     * @param doing what, as in "still {@code searching}"
     */
    static LongWork begin(String doing) {
        LongWork work = new LongWork(doing, Output::progress, System::nanoTime);
        ScheduledFuture<?> unused = work.ticks.scheduleAtFixedRate(work::tick, 1, 1, TimeUnit.SECONDS);
        return work;
    }

    /** Goes on to something else. */
    synchronized void doing(String what) {
        doing = what;
        sinceNanos = nanoTime.getAsLong();
    }

    /** Tells a line. */
    synchronized void progress(String line) {
        lastNanos = nanoTime.getAsLong();
        lines.accept(line);
    }

    /** Whether a line is due. */
    synchronized boolean isQuiet() {
        return nanoTime.getAsLong() - lastNanos >= QUIET_NANOS;
    }

    /** Says that there is still something going on, if nothing was told for long. */
    synchronized void tick() {
        long now = nanoTime.getAsLong();
        if (now - lastNanos >= MOST_SILENT_NANOS) {
            long seconds = (now - sinceNanos) / 1_000_000_000;
            progress(seconds == 0 ? "now " + doing : "still " + doing + " (" + seconds + " s)");
        }
    }

    @Override
    public void close() {
        ticks.shutdownNow();
    }
}
