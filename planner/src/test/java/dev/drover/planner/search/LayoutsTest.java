package dev.drover.planner.search;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.drover.ir.UserError;
import java.util.List;
import org.junit.jupiter.api.Test;

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
                .hasMessageContaining("workers (4)");
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
