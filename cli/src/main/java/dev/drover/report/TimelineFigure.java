package dev.drover.report;

import dev.drover.plan.sim.MemoryUse;
import dev.drover.plan.sim.SimulatedStep;
import dev.drover.plan.sim.Span;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.IntStream;

/** What each device does, and how much memory it holds, over one step: two figures with one axis of time. */
final class TimelineFigure {
    /** Of more devices only the first of each stage is drawn. */
    static final int MOST_DEVICES = 16;

    private static final int WIDTH = 960;
    private static final int LEFT = 104;
    private static final int RIGHT = 12;
    private static final int COMPUTE = 16;
    private static final int TRANSFER = 5;
    private static final int LANES = COMPUTE + TRANSFER + 8;
    private static final int MEMORY = 40;
    private static final int AXIS = 34;

    private final SimulatedStep step;
    private final List<Integer> ranks;
    private final double scale;
    private final StringBuilder svg = new StringBuilder();

    private TimelineFigure(SimulatedStep step) {
        this.step = step;
        this.ranks = ranks(step);
        this.scale = (WIDTH - LEFT - RIGHT) / Math.max(1, step.stepNanos());
    }

    /** Lanes of each device. */
    static String lanes(SimulatedStep step) {
        return new TimelineFigure(step).lanes();
    }

    /** Memory of each device. */
    static String memory(SimulatedStep step) {
        return new TimelineFigure(step).memory();
    }

    private static List<Integer> ranks(SimulatedStep step) {
        List<Integer> all =
                IntStream.range(0, step.stageByRank().size()).boxed().toList();
        if (all.size() <= MOST_DEVICES) {
            return all;
        }
        List<Integer> firsts = new ArrayList<>();
        for (int rank : all) {
            if (rank == 0
                    || !step.stageByRank().get(rank).equals(step.stageByRank().get(rank - 1))) {
                firsts.add(rank);
            }
        }
        return firsts;
    }

    private String shown() {
        return ranks.size() < step.stageByRank().size() ? ", the first of each stage" : "";
    }

    private void open(String caption, int height) {
        svg.append(String.format(
                Locale.ROOT,
                "<figure><figcaption>%s</figcaption><svg viewBox='0 0 %d %d' role=img aria-label='%s'>",
                Html.escape(caption),
                WIDTH,
                height + AXIS,
                Html.escape(caption)));
        Ticks ticks = Ticks.of(0, step.stepNanos() / 1e6, 9);
        for (double tick : ticks.values()) {
            double x = LEFT + tick * 1e6 * scale;
            svg.append(String.format(
                    Locale.ROOT,
                    "<line x1=%.1f y1=0 x2=%.1f y2=%d class=grid /><text x=%.1f y=%d text-anchor=middle>%s</text>",
                    x,
                    x,
                    height + 4,
                    x,
                    height + 17,
                    ticks.text(tick)));
        }
        svg.append(String.format(
                Locale.ROOT,
                "<text x=%d y=%d text-anchor=middle>ms</text>",
                (LEFT + WIDTH - RIGHT) / 2,
                height + AXIS - 3));
    }

    private void name(int rank, double y) {
        svg.append(String.format(
                Locale.ROOT,
                "<text x=0 y=%.1f>device %d, stage %d</text>",
                y,
                rank,
                step.stageByRank().get(rank)));
    }

    private String lanes() {
        open("One step of each device" + shown() + ": work above, sends and receives below", ranks.size() * LANES);
        for (int row = 0; row < ranks.size(); row++) {
            int top = row * LANES;
            name(ranks.get(row), top + COMPUTE - 3);
            svg.append(String.format(
                    Locale.ROOT,
                    "<rect x='%d' y='%d' width='%d' height='%d' class='idle'/>",
                    LEFT,
                    top + 2,
                    WIDTH - LEFT - RIGHT,
                    COMPUTE));
        }
        for (Span span : step.spans()) {
            int row = ranks.indexOf(span.rank());
            if (row >= 0 && span.nanos() > 0) {
                span(span, row * LANES);
            }
        }
        return svg.append("</svg><p class=legend><i class=forward></i>forward <i class=backward></i>backward")
                .append(" <i class=once></i>once a step <i class=send></i>send <i class=receive></i>receive")
                .append(
                        " <i class=idle></i>idle; numbers are micro-batches, collectives are part of the work</p></figure>")
                .toString();
    }

    private void span(Span span, int top) {
        boolean compute = span.lane() == Span.Lane.COMPUTE;
        double x = LEFT + span.startNanos() * scale;
        double width = Math.max(0.5, span.nanos() * scale);
        svg.append(String.format(
                Locale.ROOT,
                "<rect x='%.2f' y='%d' width='%.2f' height='%d' class='%s'><title>%s%s: %.3f ms</title></rect>",
                x,
                compute ? top + 2 : top + COMPUTE + 4,
                width,
                compute ? COMPUTE : TRANSFER,
                kind(span),
                Html.escape(span.label()),
                span.microBatch() < 0 ? "" : " of micro-batch " + span.microBatch(),
                span.nanos() / 1e6));
        if (compute && span.microBatch() >= 0 && width > 14) {
            svg.append(String.format(
                    Locale.ROOT,
                    "<text x='%.1f' y='%d' text-anchor=middle class=inside>%d</text>",
                    x + width / 2,
                    top + COMPUTE - 2,
                    span.microBatch()));
        }
    }

    private static String kind(Span span) {
        return switch (span.lane()) {
            case SEND -> "send";
            case RECEIVE -> "receive";
            case COMPUTE ->
                span.label().contains("backward") ? "backward" : span.label().contains("forward") ? "forward" : "once";
        };
    }

    private String memory() {
        open(
                "Memory of each device" + shown() + " over the step; all with one scale, full height is "
                        + MemoryUse.text(highest()),
                ranks.size() * MEMORY);
        double high = Math.max(1, highest());
        for (int row = 0; row < ranks.size(); row++) {
            MemoryUse use = step.memory().get(ranks.get(row));
            int bottom = row * MEMORY + MEMORY - 4;
            double full = MEMORY - 8;
            name(use.rank(), bottom - full / 2);
            StringBuilder path = new StringBuilder(String.format(Locale.ROOT, "M%d,%d", LEFT, bottom));
            double lastX = -1;
            double most = 0;
            for (MemoryUse.Point point : use.curve()) {
                // Of what falls on one place only the highest is drawn.
                double x = Math.min(WIDTH - RIGHT, LEFT + Math.max(0, point.nanos()) * scale);
                double height = full * point.bytes() / high;
                if (x - lastX < 0.4 && height <= most) {
                    continue;
                }
                path.append(String.format(Locale.ROOT, "H%.1fV%.1f", x, bottom - height));
                most = height;
                lastX = x;
            }
            path.append(String.format(Locale.ROOT, "H%dV%dZ", WIDTH - RIGHT, bottom));
            svg.append("<path class=area d='")
                    .append(path)
                    .append("'><title>device ")
                    .append(use.rank())
                    .append(": peak ")
                    .append(MemoryUse.text(use.peakBytes()))
                    .append("</title></path>");
        }
        return svg.append("</svg></figure>").toString();
    }

    private long highest() {
        return step.memory().stream().mapToLong(MemoryUse::peakBytes).max().orElse(1);
    }
}
