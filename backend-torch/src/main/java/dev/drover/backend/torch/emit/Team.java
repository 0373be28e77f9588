package dev.drover.backend.torch.emit;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * The threads of a program for loops in Java and for library calls that use one thread each. They wait awake for some microseconds
 * and then asleep. Libraries that ask OpenMP how many threads to use are told one in them.
 */
public final class Team implements AutoCloseable {
    private static final int SPINS = 400;

    private final int size;
    private final List<Member> members = new ArrayList<>();
    private final AtomicInteger pending = new AtomicInteger();
    private volatile @Nullable Thread caller;
    private volatile @Nullable Throwable failure;
    private volatile boolean closed;

    Team(int size) {
        this.size = size;
        if (size > 1) {
            CountDownLatch started = new CountDownLatch(size);
            for (int i = 0; i < size; i++) {
                Member member = new Member(i, started);
                members.add(member);
                member.thread.start();
            }
            await(started);
            // The members' setting is theirs alone, but libtorch remembers the last one for threads that come later.
            torch.set_num_threads(size);
        }
    }

    private static void await(CountDownLatch latch) {
        boolean interrupted = false;
        while (true) {
            try {
                latch.await();
                break;
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    public int size() {
        return size;
    }

    /** A piece of work on the range [from, to). */
    @FunctionalInterface
    public interface Range {
        void run(int member, long from, long to);
    }

    private final class Member implements Runnable {
        private final int number;
        private final CountDownLatch started;
        private final Thread thread;
        private volatile @Nullable Range work;
        private long count;

        Member(int number, CountDownLatch started) {
            this.number = number;
            this.started = started;
            this.thread = new Thread(this, "drover-team");
            thread.setDaemon(true);
        }

        void give(Range range, long total) {
            count = total;
            work = range;
            LockSupport.unpark(thread);
        }

        @Override
        public void run() {
            torch.set_num_threads(1);
            started.countDown();
            int spins = 0;
            while (!closed) {
                Range range = work;
                if (range == null) {
                    if (spins++ < SPINS) {
                        Thread.onSpinWait();
                    } else {
                        LockSupport.park(this);
                    }
                    continue;
                }
                spins = 0;
                work = null;
                try {
                    range.run(number, count * number / size, count * (number + 1) / size);
                } catch (RuntimeException | Error e) {
                    failure = e;
                }
                if (pending.decrementAndGet() == 0) {
                    LockSupport.unpark(caller);
                }
            }
        }
    }

    /** Cuts [0, count) into as many ranges as there are threads and runs them, one by the caller; returns when all are done. */
    public void run(long count, Range range) {
        caller = Thread.currentThread();
        pending.set(Math.max(0, size - 1));
        for (int i = 1; i < size; i++) {
            members.get(i).give(range, count);
        }
        try {
            range.run(0, 0, count / size);
        } finally {
            finish(SPINS);
        }
    }

    /** As {@link #run}, but the caller only waits: for calls of libraries that would use several threads in it. */
    public void hand(long count, Range range) {
        if (size == 1) {
            range.run(0, 0, count);
            return;
        }
        caller = Thread.currentThread();
        pending.set(size);
        for (Member member : members) {
            member.give(range, count);
        }
        finish(0);
    }

    private void finish(int spins) {
        int left = spins;
        while (pending.get() > 0) {
            if (left-- > 0) {
                Thread.onSpinWait();
            } else {
                LockSupport.park(this);
            }
        }
        Throwable failed = failure;
        if (failed != null) {
            failure = null;
            throw new IllegalStateException(failed);
        }
    }

    @Override
    public void close() {
        closed = true;
        members.forEach(member -> LockSupport.unpark(member.thread));
    }
}
