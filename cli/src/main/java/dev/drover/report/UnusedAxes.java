package dev.drover.report;

import dev.drover.plan.text.Plan;
import java.util.List;

/** What to say of mesh axes along which a plan cuts nothing. */
public final class UnusedAxes {
    private UnusedAxes() {}

    /** One sentence about all of them; empty if there are none. */
    public static String text(Plan plan) {
        List<String> axes = plan.unusedAxes();
        if (axes.isEmpty()) {
            return "";
        }
        return axes.size() == 1
                ? "Mesh axis " + axes.get(0) + " cuts nothing: all devices along it do the same work."
                : "Mesh axes " + String.join(" and ", axes) + " cut nothing: all devices of a stage do the same work.";
    }
}
