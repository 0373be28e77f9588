package dev.drover.cli;

import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.runtime.worker.StepReport;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Times of what workers do together: turns of stages, and collectives between computations, as they are in a step. */
final class ExchangeTimes {
    private static final int TURNS = 4;
    private static final int STEPS = 12;
    /** After so long no more steps are begun. */
    private static final long ENOUGH_NANOS = 100_000_000L;
    /** Collectives, of which some take many times as long as most. */
    private static final int COLLECTIVE_STEPS = 40;

    private static final long ENOUGH_COLLECTIVES_NANOS = 150_000_000L;

    private final Workers processes;
    private final CalibrationPlans plans;

    ExchangeTimes(Workers processes, CalibrationPlans plans) {
        this.processes = processes;
        this.plans = plans;
    }

    /** The first that workers have to do. */
    void begin() {
        ArrayShape shape = ArrayShape.of(DType.F32, 64);
        StepTimes unused = StepTimes.of(
                processes.load(plans.backAndForth(shape, List.of("negate(IN)"), 1, 1), CalibrationPlans.input(shape)),
                1,
                ENOUGH_NANOS);
    }

    /**
     * What workers do together once.
     *
     * @param processorNanos that one worker's compute lane takes of the processors
     * @param elapsedNanos from one time to the next
     */
    record Turn(double processorNanos, double elapsedNanos) {}

    /** A turn of two stages that wait for each other, all pairs at once: each computes a unit once, sends so many results and receives the other's. */
    Turn turn(ArrayShape shape, List<String> unit, int messages) {
        StepTimes steps = StepTimes.of(
                processes.load(plans.backAndForth(shape, unit, TURNS, messages), CalibrationPlans.input(shape)),
                STEPS,
                ENOUGH_NANOS);
        return new Turn(
                steps.slowest(StepReport::processorNanos) / TURNS, steps.slowest(StepReport::elapsedNanos) / TURNS);
    }

    /** A unit with an all-reduce among so many workers, all groups at once, on the slowest. */
    Turn allReduce(ArrayShape shape, String computing, int members) {
        int count = 3;
        List<String> unit = List.of(computing, CalibrationPlans.ALL_REDUCE.replace("GROUPS", groups(members)));
        StepTimes steps = StepTimes.of(
                processes.load(plans.together(shape, unit, count), CalibrationPlans.input(shape)),
                COLLECTIVE_STEPS,
                ENOUGH_COLLECTIVES_NANOS);
        return new Turn(
                steps.slowest(StepReport::processorNanos) / count, steps.slowest(StepReport::elapsedNanos) / count);
    }

    /** {@code {0,1},{2,3}}: all workers in groups of so many. */
    private String groups(int members) {
        List<String> groups = new ArrayList<>();
        for (int first = 0; first < plans.workers(); first += members) {
            groups.add("{"
                    + IntStream.range(first, first + members)
                            .mapToObj(String::valueOf)
                            .collect(Collectors.joining(",")) + "}");
        }
        return String.join(",", groups);
    }
}
