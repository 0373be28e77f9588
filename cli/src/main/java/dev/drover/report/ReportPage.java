package dev.drover.report;

import dev.drover.ir.graph.TrainingStep;
import dev.drover.plan.memory.MemoryKind;
import dev.drover.plan.sim.MemoryUse;
import dev.drover.plan.sim.SimulatedStep;
import dev.drover.plan.stage.Phase;
import dev.drover.plan.text.Plan;
import dev.drover.planner.search.Planned;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** One self-contained page about a plan and, where there was one, a training run: no scripts, nothing from outside. */
public final class ReportPage {
    private final Planned planned;
    private final PlacedStep placed;
    private final @Nullable TrainingRecord record;
    private final StringBuilder html = new StringBuilder();

    private ReportPage(Planned planned, TrainingStep flat, @Nullable TrainingRecord record) {
        this.planned = planned;
        this.placed = PlacedStep.of(planned.plan(), flat);
        this.record = record;
    }

    /**
     * The page as HTML.
     *
     * @param flat the step that the plan is for
     */
    public static String of(Planned planned, TrainingStep flat, @Nullable TrainingRecord record) {
        return new ReportPage(planned, flat, record).page();
    }

    private String page() {
        Plan plan = planned.plan();
        html.append(
                        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>")
                .append("<title>Drover: ")
                .append(Html.escape(plan.model().source()))
                .append("</title><style>")
                .append(STYLE)
                .append("</style><main><h1>")
                .append(Html.escape(plan.model().source()))
                .append("</h1><p class=lead>")
                .append(String.format(
                        Locale.ROOT,
                        "%d stage%s of mesh %s on %s, %d micro-batch%s, schedule %s",
                        plan.stages(),
                        plan.stages() == 1 ? "" : "s",
                        Html.escape(plan.mesh().toString()),
                        Html.escape(plan.cluster().name()),
                        plan.microBatches(),
                        plan.microBatches() == 1 ? "" : "es",
                        Html.escape(plan.schedule())))
                .append("</p>");
        String unused = UnusedAxes.text(plan);
        if (!unused.isEmpty()) {
            html.append("<p>").append(Html.escape(unused)).append("</p>");
        }
        if (record != null) {
            training(record);
        }
        time();
        timeline();
        memory();
        graph();
        traffic();
        placements();
        candidates();
        html.append("</main></html>\n");
        return html.toString();
    }

    private void training(TrainingRecord run) {
        html.append("<h2>Training</h2><p>");
        html.append(String.format(
                Locale.ROOT,
                "%s%s; %.2f ms a step (median), %,.0f %ss a second%s.",
                run.losses().isEmpty()
                        ? ""
                        : String.format(
                                Locale.ROOT,
                                "Loss %.4f to %.4f in ",
                                run.losses().get(0),
                                run.losses().get(run.losses().size() - 1)),
                Html.escape(run.stepsText()),
                run.medianStepMillis(),
                run.perSecond(),
                Html.escape(run.unit()),
                Double.isNaN(run.predictedStepMillis())
                        ? ""
                        : String.format(
                                Locale.ROOT,
                                "; predicted %.2f ms (%+.0f %%)",
                                run.predictedStepMillis(),
                                100 * (run.predictedStepMillis() / run.medianStepMillis() - 1))));
        html.append("</p>");
        html.append(CurveFigure.of("Loss", run.firstStep(), run.losses(), false, Double.NaN, ""));
        html.append(CurveFigure.of(
                "Milliseconds of a step",
                run.firstStep(),
                run.stepMillis(),
                true,
                run.predictedStepMillis(),
                "predicted"));
    }

    private void time() {
        SimulatedStep step = planned.simulated();
        html.append("<h2>Predicted time</h2>");
        table(
                List.of("part (mean of the devices)", "time", "share"),
                List.of(
                        part("step", step.stepNanos()),
                        part("compute", step.computeNanos()),
                        part("collectives", step.collectiveNanos()),
                        part("point to point", step.pointToPointNanos()),
                        part("bubble", step.bubbleNanos())));
    }

    private List<String> part(String name, double nanos) {
        return List.of(
                name,
                String.format(Locale.ROOT, "%.3f ms", Math.round(nanos) / 1e6),
                String.format(
                        Locale.ROOT,
                        "%.1f %%",
                        100.0
                                * Math.round(nanos)
                                / Math.max(1, planned.simulated().stepNanos())));
    }

    private void timeline() {
        html.append("<h2>Timeline</h2>").append(TimelineFigure.lanes(planned.simulated()));
    }

    private void memory() {
        SimulatedStep step = planned.simulated();
        html.append("<h2>Memory</h2>");
        List<String> header = new ArrayList<>(List.of("device", "stage", "peak", "limit"));
        List<MemoryKind> kinds = Arrays.stream(MemoryKind.values())
                .filter(kind -> step.memory().stream()
                        .anyMatch(use -> use.peakBytesByKind().getOrDefault(kind, 0L) > 0))
                .toList();
        kinds.forEach(kind -> header.add(kind.text()));
        if (record != null) {
            header.add("measured peak");
        }
        List<List<String>> rows = new ArrayList<>();
        for (MemoryUse use : step.memory()) {
            List<String> row = new ArrayList<>(List.of(
                    String.valueOf(use.rank()),
                    String.valueOf(step.stageByRank().get(use.rank())),
                    MemoryUse.text(use.peakBytes()),
                    MemoryUse.text(use.limitBytes())));
            Map<MemoryKind, Long> parts = use.peakBytesByKind();
            kinds.forEach(kind -> row.add(MemoryUse.text(parts.getOrDefault(kind, 0L))));
            if (record != null) {
                row.add(MemoryUse.text(record.peakBytes().get(use.rank())));
            }
            rows.add(row);
        }
        table(header, rows);
        html.append(TimelineFigure.memory(step));
    }

    private void candidates() {
        html.append("<h2>Candidates</h2>");
        List<List<String>> rows =
                Candidates.rows(planned.plan(), nanos -> String.format(Locale.ROOT, "%.3f ms", nanos / 1e6));
        html.append(Html.table(List.of("stages x mesh", "micro-batches", "step", "memory", "verdict"), rows, true));
    }

    private void traffic() {
        html.append("<h2>Communication of a device in one step</h2>");
        List<List<String>> rows = Traffic.rows(planned.execution());
        if (rows.isEmpty()) {
            html.append("<p>None.</p>");
        } else {
            table(List.of("kind", "count", "size of the results"), rows);
        }
    }

    private void graph() {
        html.append("<h2>Graph and shardings</h2>")
                .append(
                        "<p class=note>Matrix products, convolutions and gathers of one micro-batch, coloured by how the ")
                .append("result lies on the mesh. ")
                .append(SHARDING_KEY)
                .append(" What lies between two of them is left out.</p>")
                .append(GraphFigure.of(placed, Phase.FORWARD, "Forward"));
        String backward = GraphFigure.of(placed, Phase.BACKWARD, "Backward");
        if (!backward.isEmpty()) {
            html.append("<details><summary>Backward</summary>").append(backward).append("</details>");
        }
    }

    private void placements() {
        html.append("<h2>Inputs</h2><p class=note>").append(SHARDING_KEY);
        html.append(' ')
                .append(InputPlacement.note(planned.plan().microBatches()))
                .append("</p>");
        table(InputPlacement.HEADER, InputPlacement.rows(InputPlacement.of(placed)));
    }

    private void table(List<String> header, List<List<String>> rows) {
        html.append(Html.table(header, rows));
    }

    private static final String SHARDING_KEY =
            "R: replicated along an axis; Sd/n: dim d is cut along it, n units stay together; P: partial sums.";

    private static final String STYLE = """
            body{font:15px/1.5 system-ui,sans-serif;color:#1d2433;background:#fff;margin:0}
            main{max-width:1080px;margin:0 auto;padding:24px}
            h1{font-size:22px;margin:0 0 4px;overflow-wrap:anywhere}h2{font-size:17px;margin:28px 0 8px}
            .lead{color:#59637a;margin:0}
            table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
            th,td{text-align:right;padding:3px 8px;font-size:14px;border-bottom:1px solid #e3e7ee;white-space:nowrap}
            th:first-child,td:first-child{text-align:left}
            .text-at-end td:last-child,.text-at-end th:last-child{text-align:left;white-space:normal}
            th{color:#59637a;font-weight:600;white-space:normal;vertical-align:bottom}.scroll{overflow-x:auto}.note{color:#59637a;font-size:13px;margin:4px 0}
            figure{margin:14px 0}figcaption,.legend{color:#59637a;font-size:13px;margin:4px 0}
            svg{width:100%;height:auto;font-size:11px}text{fill:#59637a}
            .axis{stroke:#8a94a8}.grid{stroke:#e9ecf2}.reference{stroke:#4aa36b;stroke-dasharray:5 4}
            .dot{fill:#2f6fde}.curve{fill:none;stroke:#2f6fde;stroke-width:1.5}.area{fill:#c5d7f7;stroke:#2f6fde;stroke-width:.8}
            .forward{fill:#2f6fde;background:#2f6fde}.backward{fill:#e08a2b;background:#e08a2b}
            .once{fill:#4aa36b;background:#4aa36b}.send{fill:#9b6bd3;background:#9b6bd3}
            .receive{fill:#c76b94;background:#c76b94}.idle{fill:#f1f3f7;background:#e3e7ee}
            .edge,.bracket{fill:none;stroke:#8a94a8;stroke-width:1}.label{fill:#1d2433;font-size:11px}.detail{font-size:10px}
            .sharding0{fill:#d6e4ff;background:#d6e4ff}.sharding1{fill:#ffe3c2;background:#ffe3c2}
            .sharding2{fill:#cfeedd;background:#cfeedd}.sharding3{fill:#e8dbf7;background:#e8dbf7}
            .sharding4{fill:#f9d5e2;background:#f9d5e2}.sharding5{fill:#e3e7ee;background:#e3e7ee}
            .sharding6{fill:#fff3b8;background:#fff3b8}.sharding7{fill:#c9eef2;background:#c9eef2}
            summary{cursor:pointer;color:#2f6fde;font-size:14px}
            .inside{fill:#fff;font-size:10px}
            .legend i{display:inline-block;width:11px;height:11px;margin:0 4px 0 12px}
            """;
}
