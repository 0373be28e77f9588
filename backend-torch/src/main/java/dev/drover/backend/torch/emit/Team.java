package dev.drover.backend.torch.emit;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.bytedeco.pytorch.AutoDispatchBelowADInplaceOrView;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/**
 * The threads of a program for loops in Java and for library calls that use one thread each. Work comes in pieces, of which each
 * thread takes the next when it has done one: so a thread that the machine slows for a moment is not waited for. What a piece
 * computes must not depend on who takes it.
 *
 * <p>The caller is one of the threads. The others wait awake for some microseconds and then asleep. Libraries that ask OpenMP how many
 * threads to use are told one in them, and in the caller while it works on pieces.
 */
public final class Team implements AutoCloseable {
    /** Turns of waiting awake, each of 50 to 150 ns: longer than the short steps between two pieces of shared work. */
    private static final int SPINS = 1000;

    private static final int IDLE = 0;
    private static final int OFFERED = 1;
    private static final int WORKING = 2;

    private final int size;
    private final List<Member> members = new ArrayList<>();
    private final AtomicInteger next = new AtomicInteger();
    private volatile @Nullable Thread waiting;
    private volatile @Nullable Throwable failure;
    private volatile boolean closed;
    // Written before work is offered, which publishes them.
    private int pieces;
    private Work work = (member, piece) -> {};

    Team(int size) {
        this.size = size;
        if (size > 1) {
            CountDownLatch started = new CountDownLatch(size - 1);
            for (int i = 1; i < size; i++) {
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

    /** Some work, cut in pieces. */
    @FunctionalInterface
    public interface Work {
        /** Does a piece; {@code member} is the thread's number, and no two threads have the same at one time. */
        void run(int member, int piece);
    }

    private final class Member implements Runnable {
        private final int number;
        private final CountDownLatch started;
        private final Thread thread;
        private final AtomicInteger phase = new AtomicInteger(IDLE);
        private volatile boolean asleep;

        Member(int number, CountDownLatch started) {
            this.number = number;
            this.started = started;
            this.thread = new Thread(this, "drover-team");
            thread.setDaemon(true);
        }

        void offer() {
            phase.set(OFFERED);
            if (asleep) {
                LockSupport.unpark(thread);
            }
        }

        /** Returns when this thread does nothing; if it has not begun yet, it will not. */
        void end() {
            if (phase.compareAndSet(OFFERED, IDLE)) {
                return;
            }
            int left = SPINS;
            while (phase.get() != IDLE) {
                if (left-- > 0) {
                    Thread.onSpinWait();
                } else {
                    waiting = Thread.currentThread();
                    if (phase.get() != IDLE) {
                        LockSupport.park(Team.this);
                    }
                    waiting = null;
                }
            }
        }

        @Override
        public void run() {
            torch.set_num_threads(1);
            started.countDown();
            try (AutoDispatchBelowADInplaceOrView guard = new AutoDispatchBelowADInplaceOrView()) {
                takeOffers();
            }
        }

        private void takeOffers() {
            int spins = 0;
            while (!closed) {
                if (phase.get() == OFFERED && phase.compareAndSet(OFFERED, WORKING)) {
                    spins = 0;
                    take(number);
                    phase.set(IDLE);
                    LockSupport.unpark(waiting);
                } else if (spins++ < SPINS) {
                    Thread.onSpinWait();
                } else {
                    asleep = true;
                    if (phase.get() != OFFERED && !closed) {
                        LockSupport.park(Team.this);
                    }
                    asleep = false;
                }
            }
        }
    }

    /** Does all pieces; returns when the last is done. For one caller at a time. */
    public void run(int count, Work given) {
        if (size == 1 || count == 1) {
            for (int i = 0; i < count; i++) {
                given.run(0, i);
            }
            return;
        }
        work = given;
        pieces = count;
        next.set(0);
        torch.set_num_threads(1);
        members.forEach(Member::offer);
        take(0);
        members.forEach(Member::end);
        torch.set_num_threads(size);
        Throwable failed = failure;
        if (failed != null) {
            failure = null;
            throw new IllegalStateException(failed);
        }
    }

    private void take(int member) {
        try {
            for (int piece = next.getAndIncrement(); piece < pieces; piece = next.getAndIncrement()) {
                work.run(member, piece);
            }
        } catch (RuntimeException | Error e) {
            failure = e;
        }
    }

    @Override
    public void close() {
        closed = true;
        members.forEach(member -> LockSupport.unpark(member.thread));
    }
}
