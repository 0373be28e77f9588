package dev.drover.planner.search;

import dev.drover.plan.sim.MemoryUse;
import dev.drover.plan.sim.SimulatedStep;
import dev.drover.plan.stage.CutStep;
import dev.drover.plan.stage.StageAssignment;
import dev.drover.plan.task.ExecutionPlan;
import dev.drover.planner.spmd.StepShardings;
import java.util.Locale;

/** What became of a layout. */
sealed interface Verdict {
    Layout layout();

    /**
     * Simulated, with everything that it takes to write it down.
     *
     * @param gatherPerPhase whether each phase gathers what it needs for itself, for want of memory
     * @param memoryBinds whether a faster choice had to be given up for memory
     */
    record Judged(
            Layout layout,
            CutStep cut,
            StageAssignment assignment,
            StepShardings.Found found,
            ExecutionPlan execution,
            SimulatedStep simulated,
            boolean gatherPerPhase,
            boolean memoryBinds)
            implements Verdict {
        long stepNanos() {
            return Math.round(simulated.stepNanos());
        }

        long peakBytes() {
            return simulated.memory().stream()
                    .mapToLong(MemoryUse::peakBytes)
                    .max()
                    .orElse(0);
        }

        boolean fits() {
            return simulated.fits();
        }
    }

    /**
     * Not faster than the best one.
     *
     * @param forMemory whether a faster choice had to be given up for memory before
     */
    record Slower(Layout layout, String reason, boolean forMemory) implements Verdict {
        /** Because it is before its memory is made to fit, which takes no less time. */
        static Slower withoutFitting(Layout layout, double stepNanos, boolean forMemory) {
            return new Slower(
                    layout,
                    String.format(
                            Locale.ROOT,
                            "cannot be faster: takes %.3f ms and more memory than there is",
                            stepNanos / 1e6),
                    forMemory);
        }

        /** Because of a bound. */
        static Slower of(Layout layout, double leastNanos, boolean forMemory) {
            return new Slower(
                    layout,
                    String.format(Locale.ROOT, "cannot be faster: computing alone takes %.3f ms", leastNanos / 1e6),
                    forMemory);
        }
    }

    /**
     * Not simulated.
     *
     * @param missingBytes by which the memory of a device is too small at least; 0 if that is not why
     */
    record Refused(Layout layout, String reason, long missingBytes) implements Verdict {}
}
