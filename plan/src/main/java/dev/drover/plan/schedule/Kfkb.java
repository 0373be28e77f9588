package dev.drover.plan.schedule;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/**
 * k forwards, then k backwards in turn (Ada-Grouper). Micro-batches go in groups of k neighbours; the groups follow 1F1B. With
 * k=1 it is 1F1B, with k=M it is GPipe. Two stages, k=2, four micro-batches:
 *
 * <pre>
 * F0 F1 F2 F3 B0 B1 B2 B3
 * F0 F1 B0 B1 F2 F3 B2 B3
 * </pre>
 */
record Kfkb(int k) implements ScheduleKind {
    Kfkb {
        if (k < 1) {
            throw new IllegalArgumentException("The group size (" + k + ") of kFkB must be at least 1.");
        }
    }

    @Override
    public String name() {
        return k == 1 ? "1f1b" : "kfkb:" + k;
    }

    @Override
    public Schedule make(int stages, int microBatches) {
        int groups = (microBatches + k - 1) / k;
        List<Integer> all = IntStream.range(0, groups).boxed().toList();
        List<List<Action>> byStage = new ArrayList<>();
        for (int s = 0; s < stages; s++) {
            List<Action> actions = new ArrayList<>();
            for (Action group : WarmUp.alternate(all, stages - s)) {
                for (int m = group.microBatch() * k; m < Math.min(microBatches, (group.microBatch() + 1) * k); m++) {
                    actions.add(new Action(group.forward(), m));
                }
            }
            byStage.add(actions);
        }
        return new Schedule(microBatches, byStage);
    }

    @Override
    public int inFlightBound(int stage, int stages, int microBatches) {
        return (int) Math.min(microBatches, (long) k * (stages - stage));
    }

    @Override
    public long closedFormLength(int stages, int microBatches, long forward, long backward) {
        return (microBatches + stages - 1) * (forward + backward);
    }
}
