package dev.drover.report;

import dev.drover.plan.sim.MemoryUse;
import dev.drover.plan.text.Plan;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.DoubleFunction;

/** The layouts that a search looked at, as rows of a table. */
public final class Candidates {
    private Candidates() {}

    /**
     * Stages x mesh, micro-batches, step, memory, verdict. Candidates of the same stages and mesh that were not simulated for the same
     * reason share a row, which lists their micro-batches.
     *
     * @param time writes nanoseconds
     */
    public static List<List<String>> rows(Plan plan, DoubleFunction<String> time) {
        Map<List<String>, List<Plan.Candidate>> candidatesByRow = new LinkedHashMap<>();
        for (Plan.Candidate candidate : plan.candidates()) {
            boolean simulated = candidate.stepTimeNanos() > 0;
            candidatesByRow
                    .computeIfAbsent(
                            List.of(
                                    layout(candidate),
                                    simulated ? String.valueOf(candidate.microBatches()) : "",
                                    candidate.schedule(),
                                    candidate.rejected()),
                            row -> new ArrayList<>())
                    .add(candidate);
        }
        List<List<String>> rows = new ArrayList<>();
        for (List<Plan.Candidate> same : candidatesByRow.values()) {
            Plan.Candidate first = same.get(0);
            rows.add(List.of(
                    layout(first),
                    String.join(
                            ", ",
                            same.stream()
                                    .map(c -> String.valueOf(c.microBatches()))
                                    .toList()),
                    first.stepTimeNanos() == 0 ? "-" : time.apply((double) first.stepTimeNanos()),
                    first.peakMemoryBytes() == 0 ? "-" : MemoryUse.text(first.peakMemoryBytes()),
                    first.rejected().isEmpty() ? "chosen" : first.rejected()));
        }
        return rows;
    }

    private static String layout(Plan.Candidate candidate) {
        return candidate.stages() + " x mesh " + candidate.mesh();
    }
}
