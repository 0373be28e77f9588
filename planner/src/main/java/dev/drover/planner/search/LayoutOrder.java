package dev.drover.planner.search;

import dev.drover.ir.graph.Instruction;
import dev.drover.ir.graph.TrainingStep;
import dev.drover.plan.cluster.Cluster;
import dev.drover.planner.cost.Roofline;
import java.util.Comparator;
import java.util.List;

/**
 * The most promising layouts first, by an estimate that takes no search: with W the step's work on one device, O the fixed time of its
 * ops, D devices in a mesh, S stages and M micro-batches, all work in the micro-batches and stages of one length
 *
 * <pre>
 *   step ~ (W / (M D) + O) (M + S - 1) / S
 * </pre>
 *
 * The order decides how soon a good plan bounds the others, and nothing else.
 */
final class LayoutOrder {
    private LayoutOrder() {}

    static List<Layout> mostPromisingFirst(List<Layout> layouts, TrainingStep step, Cluster cluster) {
        Roofline roofline = new Roofline(cluster.deviceType(0), cluster.measured());
        double work = 0;
        double fixed = 0;
        for (Instruction instruction : step.graph().entry().instructions()) {
            if (!instruction.op().isView()) {
                double nanos = roofline.localNanos(instruction);
                work += nanos;
                fixed += Math.min(nanos, (double) cluster.deviceType(0).opOverheadNanos());
            }
        }
        double all = work - fixed;
        double ops = fixed;
        return layouts.stream()
                .sorted(Comparator.comparingDouble(layout -> estimate(layout, all, ops)))
                .toList();
    }

    private static double estimate(Layout layout, double work, double fixed) {
        double micro = work / layout.microBatches() / layout.mesh().devices() + fixed;
        return micro * (layout.microBatches() + layout.stages() - 1) / layout.stages();
    }
}
