package dev.drover.cli;

import dev.drover.runtime.coordinator.Execution;
import dev.drover.runtime.worker.StepReport;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToLongFunction;

/**
 * What workers reported of some steps.
 *
 * @param steps of each step the reports of all workers, by rank
 */
record StepTimes(List<List<StepReport>> steps) {
    private static final int STEPS_AT_ONCE = 4;

    StepTimes {
        steps = List.copyOf(steps);
    }

    /** Runs so many steps of what needs no data; fewer if they take longer than is enough. */
    static StepTimes of(Execution execution, int most, long enoughNanos) {
        List<List<StepReport>> all = new ArrayList<>();
        long start = System.nanoTime();
        while (all.size() < most && (all.isEmpty() || System.nanoTime() - start < enoughNanos)) {
            execution.run(0, Math.min(STEPS_AT_ONCE, most - all.size()), all::add);
        }
        return new StepTimes(all);
    }

    /** Of each step what is asked for; the step in the middle, as training reports it. */
    double median(ToLongFunction<List<StepReport>> time) {
        List<Long> sorted = steps.stream().map(time::applyAsLong).sorted().toList();
        return sorted.get((sorted.size() - 1) / 2);
    }

    /** The same of the slowest worker. */
    double slowest(ToLongFunction<StepReport> time) {
        return median(reports -> reports.stream().mapToLong(time).max().orElse(0));
    }

    /** Of all workers and steps together. */
    double total(ToLongFunction<StepReport> time) {
        return steps.stream().flatMap(List::stream).mapToLong(time).sum();
    }
}
