package dev.drover.planner.search;

import dev.drover.ir.UserError;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.FutureTask;
import java.util.function.Supplier;

/** Work that other threads do before it is asked for, as far as there are processors; whoever asks first does it else. */
final class Ahead implements AutoCloseable {
    /** Threads, and so how much is worth being begun before it is asked for. */
    static final int DEPTH = Runtime.getRuntime().availableProcessors() == 1 ? 0 : 2;

    private final ExecutorService threads = Executors.newFixedThreadPool(Math.max(1, DEPTH), work -> {
        Thread thread = new Thread(work, "drover-search");
        thread.setDaemon(true);
        return thread;
    });

    /** A piece of work. */
    static final class Task<T> {
        private final FutureTask<T> work;

        private Task(Supplier<T> work) {
            this.work = new FutureTask<>(work::get);
        }

        boolean isDone() {
            return work.isDone();
        }

        /**
         * Its result, after having done it here if it was not begun.
         *
         * @throws UserError that the work ended with
         */
        T get() {
            work.run();
            try {
                return work.get();
            } catch (ExecutionException e) {
                if (e.getCause() instanceof UserError refused) {
                    throw refused;
                }
                throw new IllegalStateException("A piece of the search must not fail.", e.getCause());
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException("The search must not be interrupted.", e);
            }
        }
    }

    /** Has work done. */
    <T> Task<T> of(Supplier<T> work) {
        Task<T> task = new Task<>(work);
        if (DEPTH > 0) {
            threads.execute(task.work);
        }
        return task;
    }

    /** Begins nothing more. */
    @Override
    public void close() {
        threads.shutdownNow();
    }
}
