package dev.drover.planner.search;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.drover.ir.UserError;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class LayoutsTest {

    @Test
    void everyLayoutUsesAllDevicesAndDividesTheBatch() {
        List<Layout> layouts = Layouts.of(8, 16, SearchOptions.OPEN);
        assertThat(layouts).isNotEmpty();
        for (Layout layout : layouts) {
            assertThat(layout.stages() * layout.mesh().devices()).isEqualTo(8);
            assertThat(16 % layout.microBatches()).isZero();
        }
        assertThat(layouts).doesNotHaveDuplicates();
    }

    private static List<Integer> microBatches(long batch, int stages) {
        return Layouts.of(4, batch, SearchOptions.OPEN.withStages(stages).withMesh(List.of(4 / stages))).stream()
                .map(Layout::microBatches)
                .toList();
    }

    /** Doubling up to eight times the stages, or what of the batch's divisors is nearest. */
    @Test
    void microBatchesDivideAnyBatch() {
        assertThat(microBatches(16, 1)).containsExactly(1, 2, 4, 8);
        assertThat(microBatches(16, 2)).containsExactly(2, 4, 8, 16);
        assertThat(microBatches(16, 4)).containsExactly(4, 8, 16);
        assertThat(microBatches(7, 1)).containsExactly(1, 7);
        assertThat(microBatches(7, 2)).containsExactly(1, 7);
        assertThat(microBatches(7, 4)).containsExactly(1, 7);
        assertThat(microBatches(12, 1)).containsExactly(1, 2, 4, 6);
        assertThat(microBatches(1, 4)).containsExactly(1);
    }

    /** Batches of billions are possible ({@code gpt:batch=2000000000}): the search must not count up to them. */
    @Test
    @Timeout(60)
    void microBatchesOfHugeBatches() {
        assertThat(microBatches(1_000_000_000_000L, 1)).containsExactly(1, 2, 4, 8);
        assertThat(microBatches(999_999_999_989L, 2)).containsExactly(1);
        assertThat(microBatches(6, 4)).containsExactly(3, 6);
    }

    @Test
    void optionsAreKept() {
        SearchOptions options = SearchOptions.OPEN
                .withStages(2)
                .withMesh(List.of(2))
                .withMicroBatches(4)
                .withSchedule("gpipe");
        List<Layout> layouts = Layouts.of(4, 16, options);
        assertThat(layouts).hasSize(1);
        assertThat(layouts.get(0).text()).isEqualTo("2 stages x mesh 2, 4 micro-batches, gpipe");
    }

    @Test
    void impossibleOptionsAreRefusedByName() {
        assertThatThrownBy(() -> Layouts.of(4, 16, SearchOptions.OPEN.withStages(8)))
                .isInstanceOf(UserError.class)
                .hasMessageContaining("stages (8)")
                .hasMessageContaining("devices (4)");
        assertThatThrownBy(() -> Layouts.of(4, 16, SearchOptions.OPEN.withMicroBatches(5)))
                .isInstanceOf(UserError.class)
                .hasMessageContaining("micro-batches (5)")
                .hasMessageContaining("batch (16)")
                .hasMessageContaining("--micro-batches 4");
        assertThatThrownBy(
                        () -> Layouts.of(4, 16, SearchOptions.OPEN.withStages(2).withMesh(List.of(4))))
                .isInstanceOf(UserError.class)
                .hasMessageContaining("mesh");
        assertThatThrownBy(() -> Layouts.of(4, 16, SearchOptions.OPEN.withSchedule("1f1c")))
                .isInstanceOf(UserError.class)
                .hasMessageContaining("1f1c");
    }
}
