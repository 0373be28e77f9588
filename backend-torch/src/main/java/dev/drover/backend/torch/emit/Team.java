package dev.drover.backend.torch.emit;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** The threads of a program for loops in Java: the caller's and daemons beside it. */
public final class Team implements AutoCloseable {
    private final int size;
    private final ExecutorService others;

    Team(int size) {
        this.size = size;
        this.others = Executors.newFixedThreadPool(Math.max(1, size - 1), task -> {
            Thread thread = new Thread(task, "drover-loop");
            thread.setDaemon(true);
            return thread;
        });
    }

    public int size() {
        return size;
    }

    /** A piece of work on the range [from, to). */
    @FunctionalInterface
    public interface Range {
        void run(int member, long from, long to);
    }

    /** Cuts [0, count) into as many ranges as there are threads and runs them; returns when all are done. */
    public void run(long count, Range range) {
        List<Future<?>> waiting = new ArrayList<>();
        for (int i = 1; i < size; i++) {
            int member = i;
            waiting.add(others.submit(() -> range.run(member, count * member / size, count * (member + 1) / size)));
        }
        range.run(0, 0, count / size);
        for (Future<?> future : waiting) {
            try {
                future.get();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException("The loop must not be interrupted.", e);
            } catch (ExecutionException e) {
                throw new IllegalStateException(e.getCause());
            }
        }
    }

    @Override
    public void close() {
        others.shutdownNow();
    }
}
