package dev.drover.report;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.ir.graph.TrainingStep;
import dev.drover.ir.pass.Flatten;
import dev.drover.models.Model;
import dev.drover.models.Zoo;
import dev.drover.plan.cluster.Presets;
import dev.drover.plan.memory.DeviceMemory;
import dev.drover.plan.stage.Phase;
import dev.drover.planner.search.PlanSearch;
import dev.drover.planner.search.SearchOptions;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

class GraphOutlineTest {
    private static final GraphOutline OUTLINE = plan();

    private static GraphOutline plan() {
        return GraphOutline.of(placed("gpt:layers=5,hidden=16,heads=2,seq=8,batch=8,vocab=32"), Phase.FORWARD);
    }

    private static PlacedStep placed(String name) {
        Model model = Zoo.parse(name);
        TrainingStep flat = Flatten.run(model.step());
        return PlacedStep.of(
                PlanSearch.search(
                                flat,
                                name,
                                Presets.parse("m8:1", () -> {
                                    throw new AssertionError("m8 needs no calibration");
                                }),
                                DeviceMemory.ESTIMATE,
                                new SearchOptions(1, List.of(8), 1, "1f1b", 30, 1),
                                line -> {})
                        .plan(),
                flat);
    }

    @Test
    void equalLayersAreListedOnceAndNothingIsLost() {
        int shown = OUTLINE.rows().stream().mapToInt(List::size).sum();
        int repeated = OUTLINE.blocks().stream()
                .mapToInt(block -> (block.times() - 1)
                        * OUTLINE.rows().subList(block.first(), block.first() + block.size()).stream()
                                .mapToInt(List::size)
                                .sum())
                .sum();
        assertThat(shown + repeated).isEqualTo(OUTLINE.nodes().size());
        assertThat(OUTLINE.blocks())
                .anySatisfy(block -> assertThat(block.times()).isGreaterThanOrEqualTo(3));
        assertThat(OUTLINE.leftOut()).isZero();
    }

    @Test
    void everyShownOperationIsReachedFromTheFirstRow() {
        Set<Integer> reached = new HashSet<>(OUTLINE.rows().get(0));
        for (List<Integer> row : OUTLINE.rows()) {
            for (int node : row) {
                if (OUTLINE.edges().stream().anyMatch(e -> e.to() == node && reached.contains(e.from()))) {
                    reached.add(node);
                }
            }
        }
        assertThat(reached)
                .isEqualTo(OUTLINE.rows().stream().flatMap(List::stream).collect(Collectors.toSet()));
    }
}
