package dev.drover.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** On a clock that is turned by hand: there is a line at least every ten seconds, and none more where others are told. */
class LongWorkTest {
    private final AtomicLong nanos = new AtomicLong(-5);
    private final List<String> lines = new ArrayList<>();

    private void pass(LongWork work, int seconds) {
        for (int i = 0; i < seconds; i++) {
            nanos.addAndGet(TimeUnit.SECONDS.toNanos(1));
            work.tick();
        }
    }

    @Test
    void silenceIsBrokenEveryTenSeconds() {
        try (LongWork work = new LongWork("searching", lines::add, nanos::get)) {
            pass(work, 9);
            assertThat(lines).isEmpty();
            pass(work, 22);
            assertThat(lines)
                    .containsExactly("still searching (10 s)", "still searching (20 s)", "still searching (30 s)");
            work.doing("training");
            pass(work, 9);
            assertThat(lines).last().isEqualTo("still training (9 s)");
            pass(work, 9);
            work.doing("saving");
            work.tick();
            nanos.addAndGet(TimeUnit.MILLISECONDS.toNanos(600));
            work.tick();
            assertThat(lines).last().isEqualTo("now saving");
        }
    }

    @Test
    void linesOfItsOwnTakeItsPlace() {
        try (LongWork work = new LongWork("training", lines::add, nanos::get)) {
            for (int step = 1; step <= 100; step++) {
                pass(work, 1);
                if (work.isQuiet()) {
                    work.progress("step " + step);
                }
            }
        }
        assertThat(lines).hasSize(12).first().isEqualTo("step 8");
        assertThat(lines).last().isEqualTo("step 96");
        assertThat(lines).allMatch(line -> line.startsWith("step"));
    }
}
