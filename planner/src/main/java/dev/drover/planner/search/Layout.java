package dev.drover.planner.search;

import dev.drover.plan.mesh.Mesh;
import dev.drover.plan.text.Plan;

/** The coarse decisions of one candidate: everything but which value is cut how, and which instruction is on which stage. */
public record Layout(int stages, Mesh mesh, int microBatches, String schedule) {

    /** Of a plan. */
    public static Layout of(Plan plan) {
        return new Layout(plan.stages(), plan.mesh(), plan.microBatches(), plan.schedule());
    }

    /** {@code 2 stages x mesh 2x4, 4 micro-batches, 1f1b}. */
    public String text() {
        return text(mesh.toString(), String.valueOf(microBatches));
    }

    /** With several meshes or numbers of micro-batches. */
    String text(String meshes, String numbers) {
        return stages + " stage" + (stages == 1 ? "" : "s") + " x mesh " + meshes + ", " + numbers + " micro-batch"
                + (numbers.equals("1") ? "" : "es") + ", " + schedule;
    }
}
