package dev.drover.planner.search;

import dev.drover.plan.mesh.Mesh;
import java.util.stream.Collectors;

/** The coarse decisions of one candidate: everything but which value is cut how, and which instruction is on which stage. */
record Layout(int stages, Mesh mesh, int microBatches, String schedule) {

    /** {@code 2 stages x [x=2], 4 micro-batches, 1f1b}. */
    String text() {
        String sizes = mesh.axes().stream().map(a -> String.valueOf(a.size())).collect(Collectors.joining("x"));
        return stages + " stage" + (stages == 1 ? "" : "s") + " x mesh " + (sizes.isEmpty() ? "1" : sizes) + ", "
                + microBatches + " micro-batch" + (microBatches == 1 ? "" : "es") + ", " + schedule;
    }
}
