package dev.drover.report;

import dev.drover.ir.graph.Instruction;
import dev.drover.plan.stage.Phase;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** The heavy operations of a phase as a graph, top down, coloured by the sharding of their results. */
final class GraphFigure {
    private static final int WIDTH = 960;
    private static final int LEFT = 96;
    private static final int BOX = 152;
    private static final int HEIGHT = 32;
    private static final int GAP = 12;
    private static final int ROW = HEIGHT + 24;
    private static final int PER_LINE = (WIDTH - LEFT) / (BOX + GAP);
    /** Taller figures are cut off, and say so. */
    private static final int MOST_LINES = 120;

    private static final int COLOURS = 8;

    private final GraphOutline outline;
    private final Map<String, Integer> colours = new LinkedHashMap<>();
    private final Map<Integer, double[]> centres = new HashMap<>();
    private final StringBuilder boxes = new StringBuilder();
    private int lines;
    private int hidden;

    private GraphFigure(GraphOutline outline) {
        this.outline = outline;
    }

    /** The figure of one phase; empty if it has no heavy operation. */
    static String of(PlacedStep placed, Phase phase, String caption) {
        GraphOutline outline = GraphOutline.of(placed, phase);
        return outline.nodes().isEmpty() ? "" : new GraphFigure(outline).draw(caption);
    }

    private String draw(String caption) {
        StringBuilder marks = new StringBuilder();
        int stage = -1;
        List<Integer> lineByRow = new ArrayList<>();
        for (List<Integer> row : outline.rows()) {
            lineByRow.add(lines);
            int own = outline.nodes().get(row.get(0)).stage();
            if (lines < MOST_LINES && own != stage) {
                marks.append(String.format(
                        Locale.ROOT,
                        "<line x1=0 y1=%d x2=%d y2=%d class=grid /><text x=0 y=%d>stage %d</text>",
                        lines * ROW + 4,
                        WIDTH,
                        lines * ROW + 4,
                        lines * ROW + 18,
                        own));
                stage = own;
            }
            place(row);
        }
        lineByRow.add(lines);
        for (GraphOutline.Block block : outline.blocks()) {
            int top = lineByRow.get(block.first()) * ROW + 9;
            int bottom = Math.min(MOST_LINES, lineByRow.get(block.first() + block.size())) * ROW;
            if (top < bottom) {
                marks.append(String.format(
                        Locale.ROOT,
                        "<path d='M%d %dh-5v%dh5' class=bracket /><text x=%d y=%d text-anchor=end>%d times</text>",
                        LEFT - 8,
                        top,
                        bottom - top,
                        LEFT - 20,
                        (top + bottom) / 2 + 4,
                        block.times()));
            }
        }
        int height = Math.min(lines, MOST_LINES) * ROW + 8;
        return String.format(
                        Locale.ROOT,
                        "<figure><figcaption>%s</figcaption>%s<svg viewBox='0 0 %d %d' role=img aria-label='%s'>",
                        Html.escape(caption),
                        legend(),
                        WIDTH,
                        height,
                        Html.escape(caption))
                + marks
                + edges()
                + boxes
                + "</svg>"
                + note()
                + "</figure>";
    }

    private String note() {
        int missing = hidden + outline.leftOut();
        return missing == 0 ? "" : "<p class=note>" + missing + " more operations are not drawn.</p>";
    }

    private void place(List<Integer> row) {
        for (int i = 0; i < row.size(); i++) {
            int line = lines + i / PER_LINE;
            if (line >= MOST_LINES) {
                hidden++;
                continue;
            }
            GraphOutline.Node node = outline.nodes().get(row.get(i));
            int onLine = Math.min(PER_LINE, row.size() - i / PER_LINE * PER_LINE);
            double start = LEFT + (WIDTH - LEFT - onLine * (BOX + GAP)) / 2.0 + GAP / 2.0;
            double x = start + i % PER_LINE * (BOX + GAP);
            double y = line * ROW + 10;
            centres.put(row.get(i), new double[] {x + BOX / 2.0, y});
            boxes.append(box(node, outline.timesByNode().getOrDefault(row.get(i), 1), x, y));
        }
        lines += (row.size() + PER_LINE - 1) / PER_LINE;
    }

    private String box(GraphOutline.Node node, int times, double x, double y) {
        Instruction instruction = node.instruction();
        int colour = colours.computeIfAbsent(node.sharding(), s -> colours.size()) % COLOURS;
        return String.format(
                Locale.ROOT,
                "<g><title>%s</title><rect x='%.1f' y='%.1f' width='%d' height='%d' rx='4' class='sharding%d'/>"
                        + "<text x='%.1f' y='%.1f' text-anchor='middle' class='label'>%s</text>"
                        + "<text x='%.1f' y='%.1f' text-anchor='middle' class='detail'>%s</text></g>",
                Html.escape((times == 1 ? "" : times + " times such as ") + instruction.name() + " = "
                        + instruction.shape() + " " + instruction.op().opcode() + ", " + node.sharding()),
                x,
                y,
                BOX,
                HEIGHT,
                colour,
                x + BOX / 2.0,
                y + 13,
                Html.escape(shortened((times == 1 ? "" : times + " times ") + instruction.name())),
                x + BOX / 2.0,
                y + 26,
                Html.escape(shortened(instruction.shape().toString())));
    }

    private static String shortened(String text) {
        return text.length() <= 24 ? text : text.substring(0, 23) + "~";
    }

    private String edges() {
        StringBuilder paths = new StringBuilder();
        for (GraphOutline.Edge edge : outline.edges()) {
            double[] from = centres.get(edge.from());
            double[] to = centres.get(edge.to());
            if (from != null && to != null) {
                double middle = to[1] - (ROW - HEIGHT) / 2.0;
                paths.append(String.format(
                        Locale.ROOT,
                        "<path d='M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f' class=edge />",
                        from[0],
                        from[1] + HEIGHT,
                        from[0],
                        from[1] + HEIGHT + (ROW - HEIGHT) / 2.0,
                        to[0],
                        middle,
                        to[0],
                        to[1]));
            }
        }
        return paths.toString();
    }

    private String legend() {
        StringBuilder legend = new StringBuilder("<div class=legend>");
        colours.forEach((sharding, colour) -> legend.append("<i class=sharding")
                .append(colour % COLOURS)
                .append("></i>")
                .append(Html.escape(sharding.isEmpty() ? "one device" : sharding)));
        return legend.append("</div>").toString();
    }
}
