package dev.drover.report;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.ir.graph.InputRole;
import dev.drover.ir.graph.OutputRole;
import dev.drover.ir.graph.TrainingStep;
import dev.drover.ir.pass.Flatten;
import dev.drover.ir.text.HloReader;
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
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class GraphOutlineTest {
    private static final GraphOutline OUTLINE = plan();

    private static GraphOutline plan() {
        String name = "gpt:layers=5,hidden=16,heads=2,seq=8,batch=8,vocab=32";
        return GraphOutline.of(placed(name, Zoo.parse(name).step()), Phase.FORWARD);
    }

    private static PlacedStep placed(String name, TrainingStep step) {
        TrainingStep flat = Flatten.run(step);
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

    /** What each layer reads beside the layer before is one box, not one for each. */
    @Test
    void equalNeighboursOfARowAreListedOnce() {
        StringBuilder body = new StringBuilder("""
                HloModule layers
                ENTRY layers {
                  at = s32[8] parameter(0)
                  w = f32[16,16] parameter(1)
                  table = f32[32,16] parameter(2)
                  l0 = f32[8,16] parameter(3)
                """);
        for (int i = 1; i <= 6; i++) {
            body.append("""
                      g%1$d = f32[8,16] gather(table, at), offset_dims={1}, collapsed_slice_dims={0}, \
                    start_index_map={0}, index_vector_dim=1, slice_sizes={1,16}
                      a%1$d = f32[8,16] add(l%2$d, g%1$d)
                      l%1$d = f32[8,16] dot(a%1$d, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
                    """.formatted(i, i - 1));
        }
        body.append("  ROOT out = (f32[8,16]) tuple(l6)\n}\n");
        List<InputRole> roles = IntStream.range(0, 4)
                .mapToObj(i -> new InputRole(i % 3 == 0 ? InputRole.Kind.BATCH : InputRole.Kind.PARAMETER, "in" + i))
                .toList();
        TrainingStep step =
                new TrainingStep(HloReader.read("layers", body.toString()), roles, List.of(OutputRole.METRIC));
        GraphOutline outline = GraphOutline.of(placed("layers", step), Phase.FORWARD);
        assertThat(outline.timesByNode().values()).containsExactly(6);
        assertThat(outline.rows().get(0)).hasSize(1);
        assertThat(outline.rows().stream().mapToInt(List::size).sum()).isLessThan(6);
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
