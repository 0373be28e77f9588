package dev.drover.plan.schedule;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/**
 * 1F1B with {@code min(M, 2(S-s)-1)} forwards ahead on stage s of S, so that one task lies between the arrival of a forward value
 * and its use (AlpaComm, section on overlap-friendly schedules). Up to twice the activations of 1F1B on the first stage.
 */
record Eager1f1b() implements ScheduleKind {
    @Override
    public String name() {
        return "eager-1f1b";
    }

    @Override
    public Schedule make(int stages, int microBatches) {
        List<Integer> all = IntStream.range(0, microBatches).boxed().toList();
        List<List<Action>> byStage = new ArrayList<>();
        for (int s = 0; s < stages; s++) {
            byStage.add(WarmUp.alternate(all, 2 * (stages - s) - 1));
        }
        return new Schedule(microBatches, byStage);
    }

    @Override
    public int inFlightBound(int stage, int stages, int microBatches) {
        return Math.min(microBatches, 2 * (stages - stage) - 1);
    }

    @Override
    public long closedFormLength(int stages, int microBatches, long forward, long backward) {
        return (microBatches + stages - 1) * (forward + backward);
    }
}
