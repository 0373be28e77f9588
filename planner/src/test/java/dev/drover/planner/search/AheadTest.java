package dev.drover.planner.search;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.drover.ir.UserError;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class AheadTest {
    @Test
    void eachPieceIsDoneOnceWhoeverDoesIt() {
        AtomicInteger done = new AtomicInteger();
        try (Ahead ahead = new Ahead()) {
            List<Ahead.Task<Integer>> tasks = new ArrayList<>();
            for (int i = 0; i < 50; i++) {
                int number = i;
                tasks.add(ahead.of(() -> {
                    done.incrementAndGet();
                    return number;
                }));
            }
            for (int i = 49; i >= 0; i--) {
                assertThat(tasks.get(i).get()).isEqualTo(i);
                assertThat(tasks.get(i).get()).isEqualTo(i);
            }
        }
        assertThat(done).hasValue(50);
    }

    /** However busy the threads are, what is asked for is done. */
    @Test
    void whatIsNotBegunIsDoneByWhoeverAsks() {
        CountDownLatch asked = new CountDownLatch(1);
        try (Ahead ahead = new Ahead()) {
            for (int i = 0; i < Ahead.DEPTH; i++) {
                ahead.of(() -> {
                    try {
                        asked.await();
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                    }
                    return 0;
                });
            }
            assertThat(ahead.of(() -> Thread.currentThread()).get()).isSameAs(Thread.currentThread());
            asked.countDown();
        }
    }

    @Test
    void aUsersMistakeIsToldToWhoeverAsks() {
        try (Ahead ahead = new Ahead()) {
            Ahead.Task<Integer> task = ahead.of(() -> {
                throw new UserError("The step must be possible.");
            });
            assertThatThrownBy(task::get).isInstanceOf(UserError.class).hasMessage("The step must be possible.");
        }
    }
}
