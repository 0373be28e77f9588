package dev.drover.plan.schedule;

import java.util.ArrayList;
import java.util.List;

/**
 * All forwards, then all backwards (GPipe). Three stages, three micro-batches:
 *
 * <pre>
 * F0 F1 F2 .. .. .. .. B0 B1 B2
 * .. F0 F1 F2 .. .. B0 B1 B2 ..
 * .. .. F0 F1 F2 B0 B1 B2 .. ..
 * </pre>
 */
record Gpipe() implements ScheduleKind {
    @Override
    public String name() {
        return "gpipe";
    }

    @Override
    public Schedule make(int stages, int microBatches) {
        List<Action> actions = new ArrayList<>();
        for (int m = 0; m < microBatches; m++) {
            actions.add(Action.forward(m));
        }
        for (int m = 0; m < microBatches; m++) {
            actions.add(Action.backward(m));
        }
        return new Schedule(microBatches, java.util.Collections.nCopies(stages, actions));
    }

    @Override
    public int inFlightBound(int stage, int stages, int microBatches) {
        return microBatches;
    }

    @Override
    public long closedFormLength(int stages, int microBatches, long forward, long backward) {
        return (microBatches + stages - 1) * (forward + backward);
    }
}
