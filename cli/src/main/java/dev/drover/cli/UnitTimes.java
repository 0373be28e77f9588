package dev.drover.cli;

import dev.drover.ir.type.ArrayShape;
import dev.drover.runtime.coordinator.Execution;
import dev.drover.runtime.worker.StepReport;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;

/**
 * Times of units of computing while all workers compute, each worker another unit: the processor time that a unit takes meanwhile, times
 * the workers that share a processor. Other work on the machine counts little in it.
 */
final class UnitTimes {
    private static final int STEPS = 5;
    /** Processor time of a step: long beside what a step takes by itself. */
    private static final double STEP_NANOS = 10e6;
    /** A step that is so many times shorter or longer is made anew. */
    private static final double MOST_OFF = 3;

    private static final int MOST_ATTEMPTS = 4;
    private static final int MOST_REPEATS = 4000;
    /** Before it is measured, each unit is run for so long: on new memory products take twice as long for a tenth of a second. */
    private static final long SETTLE_NANOS = 200_000_000L;

    private static final long ENOUGH_NANOS = 400_000_000L;

    /**
     * A unit of computing.
     *
     * @param lines of HLO, see {@link CalibrationPlans}
     * @param count how many in a program
     * @param guessNanos about the time that it takes; one that is wrong costs time
     */
    record Unit(String name, ArrayShape shape, List<String> lines, int count, double guessNanos) {
        private int repeats(double nanosOfOne) {
            return (int) Math.max(1, Math.min(MOST_REPEATS, Math.round(STEP_NANOS / nanosOfOne / count)));
        }
    }

    private final Workers processes;
    private final CalibrationPlans plans;
    private final double sharing;
    private final Map<String, Double> nanosByName = new TreeMap<>();
    /** Of computing: its time over what it takes of the processors, in each measurement. */
    private final List<Double> delays = new ArrayList<>();

    /** @param sharing workers that share a processor */
    UnitTimes(Workers processes, CalibrationPlans plans, double sharing) {
        this.processes = processes;
        this.plans = plans;
        this.sharing = sharing;
    }

    /**
     * Measures units; those beside each other in the list run at the same time, as many as there are workers. Of a unit that is measured
     * again the shorter time counts: what disturbs takes time, now and then twice as much.
     */
    void measure(List<Unit> units) {
        for (int first = 0; first < units.size(); first += plans.workers()) {
            measureAtOnce(units.subList(first, Math.min(units.size(), first + plans.workers())));
        }
    }

    /** Workers that share a processor. */
    double sharing() {
        return sharing;
    }

    /** Time of a unit that was measured. */
    double nanos(String name) {
        Double nanos = nanosByName.get(name);
        if (nanos == null) {
            throw new IllegalArgumentException("The unit (" + name + ") must be one of " + nanosByName.keySet() + ".");
        }
        return nanos;
    }

    /** Computing alone takes longer than its processor time only if others want the processors too. */
    double delay() {
        List<Double> sorted = delays.stream().sorted().toList();
        return sorted.get(sorted.size() / 2);
    }

    private void measureAtOnce(List<Unit> units) {
        int[] repeats = units.stream()
                .mapToInt(unit -> {
                    Double known = nanosByName.get(unit.name());
                    return unit.repeats(known == null ? unit.guessNanos() : known / sharing);
                })
                .toArray();
        for (int attempt = 1; ; attempt++) {
            Execution execution = processes.load(plans.repeated(units, repeats), CalibrationPlans.inputs(units));
            // The first run of a program takes longer than the later ones.
            StepTimes unused = StepTimes.of(execution, 1, ENOUGH_NANOS);
            long start = System.nanoTime();
            double[] nanos = nanos(StepTimes.of(execution, 1, ENOUGH_NANOS), units, repeats);
            int[] better = repeats.clone();
            for (int i = 0; i < better.length; i++) {
                double off = nanos[i] * units.get(i).count() * repeats[i] / sharing / STEP_NANOS;
                if (off > MOST_OFF || off < 1 / MOST_OFF) {
                    better[i] = units.get(i).repeats(nanos[i] / sharing);
                }
            }
            if (attempt < MOST_ATTEMPTS && !Arrays.equals(better, repeats)) {
                repeats = better;
                continue;
            }
            while (System.nanoTime() - start < SETTLE_NANOS) {
                StepTimes unusedToo = StepTimes.of(execution, 1, ENOUGH_NANOS);
            }
            StepTimes steps = StepTimes.of(execution, STEPS, ENOUGH_NANOS);
            double[] measured = nanos(steps, units, repeats);
            for (int i = 0; i < measured.length; i++) {
                nanosByName.merge(units.get(i).name(), measured[i], Math::min);
            }
            delays.add(steps.total(StepReport::elapsedNanos) / steps.total(StepReport::processorNanos) / sharing);
            return;
        }
    }

    /** Of each unit the time of one, on the slowest worker that runs it. */
    private double[] nanos(StepTimes steps, List<Unit> units, int[] repeats) {
        double[] nanos = new double[units.size()];
        for (int i = 0; i < nanos.length; i++) {
            int number = i;
            double step = steps.median(reports -> IntStream.range(0, reports.size())
                    .filter(rank -> rank % units.size() == number)
                    .mapToLong(rank -> reports.get(rank).processorNanos())
                    .max()
                    .orElse(0));
            nanos[i] = step * sharing / units.get(i).count() / repeats[i];
        }
        return nanos;
    }
}
