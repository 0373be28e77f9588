package dev.drover.plan.schedule;

import java.util.ArrayList;
import java.util.List;

/** The family of schedules that go some forwards ahead, then one backward and one forward in turn, then drain. */
final class WarmUp {
    private WarmUp() {}

    /** {@code F0 .. F(w-1) B0 Fw B1 ..} over these micro-batches. */
    static List<Action> alternate(List<Integer> microBatches, int warmUp) {
        int n = microBatches.size();
        List<Action> actions = new ArrayList<>();
        int forward = 0;
        while (forward < Math.min(warmUp, n)) {
            actions.add(Action.forward(microBatches.get(forward++)));
        }
        for (int backward = 0; backward < n; backward++) {
            actions.add(Action.backward(microBatches.get(backward)));
            if (forward < n) {
                actions.add(Action.forward(microBatches.get(forward++)));
            }
        }
        return actions;
    }
}
