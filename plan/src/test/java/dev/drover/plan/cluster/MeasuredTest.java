package dev.drover.plan.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class MeasuredTest {
    private static final Measured TIMES = new Measured(
            0,
            new TreeMap<>(Map.of(
                    "pass", new TreeMap<>(Map.of(100L, 10.0)),
                    "all-reduce/2", new TreeMap<>(Map.of(100L, 50.0, 10_000L, 200.0)))));

    @Test
    void oneSizeCountsInProportion() {
        assertThat(TIMES.nanos("pass", 0)).isZero();
        assertThat(TIMES.nanos("pass", 50)).isEqualTo(5);
        assertThat(TIMES.nanos("pass", 1000)).isEqualTo(100);
    }

    @Test
    void severalSizesCountBetweenThemInLogarithms() {
        assertThat(TIMES.nanos("all-reduce/2", 4)).isEqualTo(50);
        assertThat(TIMES.nanos("all-reduce/2", 100)).isEqualTo(50);
        assertThat(TIMES.nanos("all-reduce/2", 1000)).isCloseTo(100, within(1e-9));
        assertThat(TIMES.nanos("all-reduce/2", 10_000)).isEqualTo(200);
        assertThat(TIMES.nanos("all-reduce/2", 40_000)).isEqualTo(800);
    }

    @Test
    void aKindThatWasNotMeasuredIsNamed() {
        assertThat(TIMES.knows("dot")).isFalse();
        assertThatThrownBy(() -> TIMES.nanos("dot", 1))
                .hasMessageContaining("dot")
                .hasMessageContaining("pass");
    }

    @Test
    void stretchedTimesAreLongerButComputingsShareOfTheProcessors() {
        Measured slow = new Measured(2, TIMES.nanosBySizeByKind())
                .withProcessor(0.8)
                .withDelay(1.5)
                .stretched(3);
        assertThat(slow.delay()).isEqualTo(1.5);
        assertThat(TIMES.delay()).isEqualTo(1);
        assertThat(slow.stretched(kind -> kind.equals("pass"), 2).nanos("pass", 100))
                .isEqualTo(60);
        assertThat(slow.nanos("pass", 100)).isEqualTo(30);
        assertThat(slow.nanos("all-reduce/2", 10_000)).isEqualTo(600);
        // Four devices on two processors: half of the time, of which the runtime takes a fifth.
        assertThat(slow.processorNanos(1000, 4)).isCloseTo(400, within(1e-9));
        assertThat(slow.processorNanos(1000, 2)).isCloseTo(800, within(1e-9));
        assertThat(TIMES.processorNanos(1000, 4)).isEqualTo(1000);
    }
}
