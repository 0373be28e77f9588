package dev.drover.report;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.ir.pass.Flatten;
import dev.drover.models.Zoo;
import dev.drover.plan.cluster.Presets;
import dev.drover.plan.memory.DeviceMemory;
import dev.drover.plan.text.Plan;
import dev.drover.planner.search.PlanSearch;
import dev.drover.planner.search.SearchOptions;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import org.junit.jupiter.api.Test;

class CandidatesTest {
    @Test
    void candidatesNotSimulatedForTheSameReasonShareARow() {
        String model = "gpt:layers=2,hidden=32,heads=4,seq=16,batch=16";
        Plan plan = PlanSearch.search(
                        Flatten.run(Zoo.parse(model).step()),
                        model,
                        Presets.parse("s1:4", () -> {
                            throw new AssertionError("s1 needs no calibration");
                        }),
                        DeviceMemory.ESTIMATE,
                        SearchOptions.OPEN,
                        line -> {})
                .plan();
        List<List<String>> rows = Candidates.rows(plan, nanos -> nanos + " ns");
        assertThat(rows).hasSizeLessThan(plan.candidates().size());
        assertThat(rows.stream().flatMap(row -> Arrays.stream(row.get(1).split(", "))))
                .hasSameSizeAs(plan.candidates());
        assertThat(new HashSet<>(rows)).hasSameSizeAs(rows);
        assertThat(rows)
                .filteredOn(row -> !row.get(2).equals("-"))
                .allSatisfy(row -> assertThat(row.get(1)).doesNotContain(","));
        assertThat(rows).filteredOn(row -> row.get(4).equals("chosen")).hasSize(1);
    }
}
