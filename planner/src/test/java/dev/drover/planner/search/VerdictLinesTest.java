package dev.drover.planner.search;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.plan.mesh.Mesh;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class VerdictLinesTest {
    private final List<String> told = new ArrayList<>();

    private static Layout layout(int stages, Mesh mesh, int microBatches) {
        return new Layout(stages, mesh, microBatches, "1f1b");
    }

    @Test
    void verdictsInARowThatAreAlikeShareALine() {
        VerdictLines lines = new VerdictLines(told::add, 12);
        lines.simulated(layout(1, Mesh.of(8), 1), "step 2 ms");
        for (int microBatches : new int[] {2, 4, 8}) {
            lines.left(layout(1, Mesh.of(8), microBatches), "no gain");
        }
        lines.left(layout(1, Mesh.of(2, 4), 8), "no gain");
        lines.left(layout(1, Mesh.of(4, 2), 8), "no gain");
        lines.left(layout(2, Mesh.of(4), 8), "no gain");
        lines.left(layout(2, Mesh.of(2, 2), 8), "no gain");
        lines.left(layout(2, Mesh.of(2, 2), 16), "no gain");
        lines.left(layout(2, Mesh.of(2, 2), 32), "too slow");
        lines.simulated(layout(4, Mesh.of(2), 4), "step 2 ms");
        lines.simulated(layout(4, Mesh.of(2), 8), "step 2 ms");
        lines.flush();
        assertThat(told)
                .containsExactly(
                        "[1/12] 1 stage x mesh 8, 1 micro-batch, 1f1b: step 2 ms",
                        "[2-4/12] 1 stage x mesh 8, 2, 4 or 8 micro-batches, 1f1b: no gain",
                        "[5-6/12] 1 stage x mesh 2x4 or 4x2, 8 micro-batches, 1f1b: no gain",
                        "[7-8/12] 2 stages x mesh 4 or 2x2, 8 micro-batches, 1f1b: no gain",
                        "[9/12] 2 stages x mesh 2x2, 16 micro-batches, 1f1b: no gain",
                        "[10/12] 2 stages x mesh 2x2, 32 micro-batches, 1f1b: too slow",
                        "[11/12] 4 stages x mesh 2, 4 micro-batches, 1f1b: step 2 ms",
                        "[12/12] 4 stages x mesh 2, 8 micro-batches, 1f1b: step 2 ms");
    }

    @Test
    void aLineWaitsNoLongerThanItIsTold() {
        VerdictLines lines = new VerdictLines(told::add, 2);
        lines.left(layout(1, Mesh.of(8), 2), "no gain");
        assertThat(told).isEmpty();
        lines.flush();
        lines.flush();
        assertThat(told).hasSize(1);
        lines.left(layout(1, Mesh.of(8), 4), "no gain");
        lines.flush();
        assertThat(told).last().isEqualTo("[2/2] 1 stage x mesh 8, 4 micro-batches, 1f1b: no gain");
    }
}
