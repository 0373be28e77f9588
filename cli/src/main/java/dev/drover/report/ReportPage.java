package dev.drover.report;

import dev.drover.plan.sim.MemoryKind;
import dev.drover.plan.sim.MemoryUse;
import dev.drover.plan.sim.SimulatedStep;
import dev.drover.plan.sim.Span;
import dev.drover.plan.text.Plan;
import dev.drover.planner.search.Planned;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** One self-contained page about a plan and, where there was one, a training run: no scripts, nothing from outside. */
public final class ReportPage {
    private static final int WIDTH = 960;
    private static final int LANE = 22;

    private final Planned planned;
    private final @Nullable TrainingRecord record;
    private final StringBuilder html = new StringBuilder();

    private ReportPage(Planned planned, @Nullable TrainingRecord record) {
        this.planned = planned;
        this.record = record;
    }

    /** The page as HTML. */
    public static String of(Planned planned, @Nullable TrainingRecord record) {
        return new ReportPage(planned, record).page();
    }

    private String page() {
        Plan plan = planned.plan();
        html.append(
                        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>")
                .append("<title>Drover: ")
                .append(escape(plan.model().source()))
                .append("</title><style>")
                .append(STYLE)
                .append("</style><main><h1>")
                .append(escape(plan.model().source()))
                .append("</h1><p class=lead>")
                .append(String.format(
                        Locale.ROOT,
                        "%d stage%s of mesh %s on %s, %d micro-batch%s, schedule %s",
                        plan.stages(),
                        plan.stages() == 1 ? "" : "s",
                        escape(plan.mesh().toString()),
                        escape(plan.cluster().name()),
                        plan.microBatches(),
                        plan.microBatches() == 1 ? "" : "es",
                        escape(plan.schedule())))
                .append("</p>");
        if (record != null) {
            training(record);
        }
        time();
        timeline();
        memory();
        candidates();
        html.append("</main></html>\n");
        return html.toString();
    }

    private void training(TrainingRecord run) {
        html.append("<h2>Training</h2><p>");
        html.append(String.format(
                Locale.ROOT,
                "Loss %.4f to %.4f in %d steps; %.2f ms a step (median), %,.0f %ss a second; predicted %.2f ms (%+.0f %%).",
                run.losses().get(0),
                run.losses().get(run.losses().size() - 1),
                run.losses().size(),
                run.medianStepMillis(),
                run.perSecond(),
                escape(run.unit()),
                run.predictedStepMillis(),
                100 * (run.predictedStepMillis() / run.medianStepMillis() - 1)));
        html.append("</p>");
        curve("Loss by step", run.losses(), "loss");
        curve("Milliseconds by step", run.stepMillis(), "ms");
    }

    private void curve(String title, List<Double> values, String unit) {
        List<Double> finite = values.stream().filter(Double::isFinite).toList();
        if (finite.isEmpty()) {
            return;
        }
        double high = finite.stream().mapToDouble(Double::doubleValue).max().orElse(1);
        double low = Math.min(
                0, finite.stream().mapToDouble(Double::doubleValue).min().orElse(0));
        int height = 160;
        StringBuilder points = new StringBuilder();
        for (int i = 0; i < values.size(); i++) {
            if (Double.isFinite(values.get(i))) {
                double x = 60 + (WIDTH - 80.0) * i / Math.max(1, values.size() - 1);
                double y = 10 + (height - 30) * (high - values.get(i)) / Math.max(1e-12, high - low);
                points.append(String.format(Locale.ROOT, "%.1f,%.1f ", x, y));
            }
        }
        html.append(String.format(
                Locale.ROOT,
                "<figure><figcaption>%s</figcaption><svg viewBox='0 0 %d %d' role=img aria-label='%s'>"
                        + "<line x1=60 y1=10 x2=60 y2=%d class=axis /><line x1=60 y1=%d x2=%d y2=%d class=axis />"
                        + "<text x=54 y=18 text-anchor=end>%.3g</text><text x=54 y=%d text-anchor=end>%.3g</text>"
                        + "<text x=%d y=%d text-anchor=end>step %d</text><polyline points='%s' class=curve />"
                        + "</svg></figure>",
                escape(title),
                WIDTH,
                height,
                escape(title + " in " + unit),
                height - 20,
                height - 20,
                WIDTH - 20,
                height - 20,
                high,
                height - 20,
                low,
                WIDTH - 20,
                height - 4,
                values.size(),
                points));
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
                String.format(Locale.ROOT, "%.3f ms", nanos / 1e6),
                String.format(
                        Locale.ROOT,
                        "%.1f %%",
                        100 * nanos / Math.max(1, planned.simulated().stepNanos())));
    }

    private void timeline() {
        SimulatedStep step = planned.simulated();
        int ranks = step.devices().size();
        int height = ranks * LANE * 2 + 40;
        double scale = (WIDTH - 110.0) / Math.max(1, step.stepNanos());
        html.append(
                        "<h2>Timeline</h2><figure><figcaption>One step; upper row of a device: compute, lower row: sends and"
                                + " receives</figcaption><svg viewBox='0 0 ")
                .append(WIDTH)
                .append(' ')
                .append(height)
                .append("' role=img>");
        for (int rank = 0; rank < ranks; rank++) {
            html.append(String.format(
                    Locale.ROOT,
                    "<text x=4 y=%d>device %d (s%d)</text>",
                    rank * LANE * 2 + LANE - 4,
                    rank,
                    step.stageByRank().get(rank)));
        }
        for (Span span : step.spans()) {
            double width = Math.max(0.4, span.nanos() * scale);
            boolean compute = span.lane() == Span.Lane.COMPUTE;
            String kind = !compute
                    ? span.lane() == Span.Lane.SEND ? "send" : "receive"
                    : span.label().contains("backward")
                            ? "backward"
                            : span.label().contains("forward") ? "forward" : "once";
            html.append(String.format(
                    Locale.ROOT,
                    "<rect x='%.2f' y='%d' width='%.2f' height='%d' class='%s'><title>%s%s: %.3f ms</title></rect>",
                    100 + span.startNanos() * scale,
                    span.rank() * LANE * 2 + (compute ? 2 : LANE + 2),
                    width,
                    compute ? LANE - 4 : LANE / 2,
                    kind,
                    escape(span.label()),
                    span.microBatch() < 0 ? "" : " of micro-batch " + span.microBatch(),
                    span.nanos() / 1e6));
        }
        html.append(String.format(
                Locale.ROOT,
                "<text x=100 y=%d>0</text><text x=%d y=%d text-anchor=end>%.3f ms</text></svg>"
                        + "<p class=legend><i class=forward></i>forward <i class=backward></i>backward"
                        + " <i class=once></i>once a step <i class=send></i>send <i class=receive></i>receive</p></figure>",
                height - 8,
                WIDTH - 10,
                height - 8,
                step.stepNanos() / 1e6));
    }

    private void memory() {
        SimulatedStep step = planned.simulated();
        html.append("<h2>Memory</h2>");
        List<String> header = new ArrayList<>(List.of("device", "stage", "peak", "limit"));
        for (MemoryKind kind : MemoryKind.values()) {
            header.add(kind.name().toLowerCase(Locale.ROOT).replace('_', ' '));
        }
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
            for (MemoryKind kind : MemoryKind.values()) {
                row.add(MemoryUse.text(parts.getOrDefault(kind, 0L)));
            }
            if (record != null) {
                row.add(MemoryUse.text(record.peakBytes().get(use.rank())));
            }
            rows.add(row);
        }
        table(header, rows);
    }

    private void candidates() {
        html.append("<h2>Candidates</h2>");
        List<List<String>> rows = new ArrayList<>();
        for (Plan.Candidate candidate : planned.plan().candidates()) {
            rows.add(List.of(
                    candidate.stages() + " x " + candidate.mesh(),
                    String.valueOf(candidate.microBatches()),
                    candidate.stepTimeNanos() == 0
                            ? "-"
                            : String.format(Locale.ROOT, "%.3f ms", candidate.stepTimeNanos() / 1e6),
                    candidate.peakMemoryBytes() == 0 ? "-" : MemoryUse.text(candidate.peakMemoryBytes()),
                    candidate.rejected().isEmpty() ? "chosen" : candidate.rejected()));
        }
        table(List.of("stages x mesh", "micro-batches", "step", "memory", ""), rows);
    }

    private void table(List<String> header, List<List<String>> rows) {
        html.append("<div class=scroll><table><thead><tr>");
        header.forEach(cell -> html.append("<th>").append(escape(cell)));
        html.append("</thead><tbody>");
        for (List<String> row : rows) {
            html.append("<tr>");
            row.forEach(cell -> html.append("<td>").append(escape(cell)));
        }
        html.append("</tbody></table></div>");
    }

    private static String escape(String text) {
        return text.replace("&", "&amp;")
                .replace("<", "&lt;")
                .replace(">", "&gt;")
                .replace("'", "&#39;");
    }

    private static final String STYLE = """
            body{font:15px/1.5 system-ui,sans-serif;color:#1d2433;background:#fff;margin:0}
            main{max-width:1000px;margin:0 auto;padding:24px}
            h1{font-size:22px;margin:0 0 4px;overflow-wrap:anywhere}h2{font-size:17px;margin:28px 0 8px}
            .lead{color:#59637a;margin:0}
            table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
            th,td{text-align:right;padding:4px 10px;border-bottom:1px solid #e3e7ee;white-space:nowrap}
            th:first-child,td:first-child{text-align:left}td:last-child,th:last-child{white-space:normal}
            th{color:#59637a;font-weight:600}.scroll{overflow-x:auto}
            figure{margin:8px 0}figcaption,.legend{color:#59637a;font-size:13px;margin:4px 0}
            svg{width:100%;height:auto;font-size:11px}text{fill:#59637a}
            .axis{stroke:#b9c1cf}.curve{fill:none;stroke:#2f6fde;stroke-width:1.5}
            .forward{fill:#2f6fde;background:#2f6fde}.backward{fill:#e08a2b;background:#e08a2b}
            .once{fill:#4aa36b;background:#4aa36b}.send{fill:#9b6bd3;background:#9b6bd3}
            .receive{fill:#c76b94;background:#c76b94}
            .legend i{display:inline-block;width:11px;height:11px;margin:0 4px 0 12px}
            """;
}
