package dev.drover.cli;

import dev.drover.plan.sim.MemoryUse;
import dev.drover.plan.sim.SimulatedStep;
import dev.drover.plan.text.Plan;
import dev.drover.planner.search.Layout;
import dev.drover.planner.search.Planned;
import dev.drover.report.Candidates;
import dev.drover.report.Traffic;
import dev.drover.report.UnusedAxes;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.DoubleFunction;
import org.jspecify.annotations.Nullable;

/** What is shown of a plan, as text and as JSON. */
final class PlanTables {
    private PlanTables() {}

    static Map<String, Object> json(Planned planned, double planningMillis) {
        Plan plan = planned.plan();
        SimulatedStep step = planned.simulated();
        Map<String, Object> out = new LinkedHashMap<>();
        out.put("model", plan.model().source());
        out.put("cluster", plan.cluster().name());
        out.put("stepTimeNanos", Math.round(step.stepNanos()));
        out.put("computeNanos", Math.round(step.computeNanos()));
        out.put("collectiveNanos", Math.round(step.collectiveNanos()));
        out.put("pointToPointNanos", Math.round(step.pointToPointNanos()));
        out.put("bubbleNanos", Math.round(step.bubbleNanos()));
        out.put(
                "peakMemoryBytes",
                step.memory().stream().map(MemoryUse::peakBytes).toList());
        out.put("memory", plan.predicted() == null ? List.of() : memoryJson(step));
        if (plan.certificate() != null) {
            out.put("objective", plan.certificate().objectiveNanos());
            out.put("lowerBound", plan.certificate().lowerBoundNanos());
            out.put("gap", plan.certificate().gap());
            out.put("cutShort", plan.certificate().cutShort());
        }
        out.put("planningMillis", Math.round(planningMillis));
        out.put("stages", plan.stages());
        Map<String, Integer> mesh = new LinkedHashMap<>();
        plan.mesh().axes().forEach(axis -> mesh.put(axis.name(), axis.size()));
        out.put("mesh", mesh);
        out.put("microBatches", plan.microBatches());
        out.put("schedule", plan.schedule());
        out.put("gatherPerPhase", plan.gatherPerPhase());
        Map<String, Object> collectives = new LinkedHashMap<>();
        Traffic.of(planned.execution()).forEach((kind, t) -> collectives.put(kind, trafficJson(t)));
        out.put("collectives", collectives);
        return out;
    }

    private static Map<String, Long> trafficJson(Traffic traffic) {
        Map<String, Long> row = new LinkedHashMap<>();
        row.put("count", traffic.count());
        row.put("bytes", traffic.bytes());
        return row;
    }

    private static List<Map<String, Object>> memoryJson(SimulatedStep step) {
        List<Map<String, Object>> rows = new ArrayList<>();
        for (MemoryUse use : step.memory()) {
            Map<String, Object> row = new LinkedHashMap<>();
            row.put("device", use.rank());
            row.put("stage", step.stageByRank().get(use.rank()));
            row.put("peakBytes", use.peakBytes());
            row.put("limitBytes", use.limitBytes());
            Map<String, Long> parts = new LinkedHashMap<>();
            use.peakBytesByKind().forEach((kind, bytes) -> parts.put(kind.key(), bytes));
            row.put("parts", parts);
            rows.add(row);
        }
        return rows;
    }

    /** Candidates that were not simulated have no step time and no memory. */
    static List<Map<String, @Nullable Object>> candidatesJson(Plan plan) {
        List<Map<String, @Nullable Object>> rows = new ArrayList<>();
        for (Plan.Candidate candidate : plan.candidates()) {
            boolean simulated = candidate.stepTimeNanos() > 0;
            Map<String, @Nullable Object> row = new LinkedHashMap<>();
            row.put("stages", candidate.stages());
            row.put("mesh", candidate.mesh());
            row.put("microBatches", candidate.microBatches());
            row.put("schedule", candidate.schedule());
            row.put("stepTimeNanos", simulated ? candidate.stepTimeNanos() : null);
            row.put("peakMemoryBytes", simulated ? candidate.peakMemoryBytes() : null);
            row.put("rejected", candidate.rejected());
            rows.add(row);
        }
        return rows;
    }

    static void print(Planned planned) {
        Plan plan = planned.plan();
        SimulatedStep step = planned.simulated();
        System.out.println(
                "plan: " + Layout.of(plan).text() + ", on " + plan.cluster().name());
        System.out.println();
        double total = Math.max(1, step.stepNanos());
        List<List<String>> parts = new ArrayList<>();
        Map<String, Double> nanosByPart = new LinkedHashMap<>();
        nanosByPart.put("step", step.stepNanos());
        nanosByPart.put("  compute", step.computeNanos());
        nanosByPart.put("  collectives", step.collectiveNanos());
        nanosByPart.put("  point to point", step.pointToPointNanos());
        nanosByPart.put("  bubble", step.bubbleNanos());
        DoubleFunction<String> time = Output.timeIn(step.stepNanos());
        nanosByPart.forEach((name, nanos) -> {
            long whole = Math.round(nanos);
            parts.add(List.of(
                    name, time.apply((double) whole), String.format(Locale.ROOT, "%.1f %%", 100 * whole / total)));
        });
        Output.table(List.of("predicted time (mean device)", "", "share"), parts);
        System.out.println();
        memory(step);
        System.out.println();
        List<List<String>> traffic = Traffic.rows(planned.execution());
        if (traffic.isEmpty()) {
            System.out.println("no communication");
        } else {
            Output.table(List.of("communication per device and step", "count", "size"), traffic);
        }
        String unused = UnusedAxes.text(plan);
        if (!unused.isEmpty()) {
            System.out.println();
            System.out.println(unused);
            System.out.println("Maybe use fewer devices, or a larger model or batch.");
        }
        candidates(plan);
    }

    /** Devices in a row that are of one stage and use the same memory share a line. */
    private static void memory(SimulatedStep step) {
        List<List<String>> rows = new ArrayList<>();
        List<MemoryUse> uses = step.memory();
        for (int first = 0, last; first < uses.size(); first = last + 1) {
            MemoryUse use = uses.get(first);
            int stage = step.stageByRank().get(use.rank());
            last = first;
            while (last + 1 < uses.size()
                    && step.stageByRank().get(uses.get(last + 1).rank()) == stage
                    && uses.get(last + 1).peakBytesByKind().equals(use.peakBytesByKind())
                    && uses.get(last + 1).limitBytes() == use.limitBytes()) {
                last++;
            }
            String devices = first == last
                    ? "device " + use.rank()
                    : "devices " + use.rank() + "-" + uses.get(last).rank();
            rows.add(List.of(
                    devices + " (stage " + stage + ")",
                    MemoryUse.text(use.peakBytes()),
                    MemoryUse.text(use.limitBytes()),
                    use.parts()));
        }
        Output.tableWithTextAtEnd(List.of("memory", "peak", "limit", "at the peak"), rows);
        if (!step.memoryProblems().isEmpty()) {
            System.out.println();
            step.memoryProblems().forEach(System.out::println);
        }
    }

    private static void candidates(Plan plan) {
        System.out.println();
        DoubleFunction<String> time = Output.timeIn(plan.candidates().stream()
                .mapToDouble(Plan.Candidate::stepTimeNanos)
                .max()
                .orElse(0));
        List<List<String>> rows = Candidates.rows(plan, time);
        Output.tableWithTextAtEnd(
                List.of("candidates: stages x mesh", "micro-batches", "step", "memory", "verdict"), rows);
        if (plan.certificate() != null && plan.certificate().cutShort()) {
            System.out.println();
            System.out.println("The search was cut short by --timeout: another run may find another plan.");
        }
    }
}
