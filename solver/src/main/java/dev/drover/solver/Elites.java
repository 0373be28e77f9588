package dev.drover.solver;

import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/** A few good and different choices of one core, for crossing; safe for several threads. */
final class Elites {
    private static final int MOST = 8;

    private final List<int[]> choices = new ArrayList<>();
    private final List<Double> costs = new ArrayList<>();

    /** Takes a choice that fits; when there are too many the dearest goes, and no two cost the same. */
    synchronized void offer(int[] x, double cost) {
        if (costs.contains(cost)) {
            return;
        }
        choices.add(x.clone());
        costs.add(cost);
        if (choices.size() > MOST) {
            int dearest = 0;
            for (int i = 1; i < costs.size(); i++) {
                dearest = costs.get(i) > costs.get(dearest) ? i : dearest;
            }
            choices.remove(dearest);
            costs.remove(dearest);
        }
    }

    /** A random one of them, null if there is none. */
    synchronized int @Nullable [] any(SplittableRandom random) {
        return choices.isEmpty()
                ? null
                : choices.get(random.nextInt(choices.size())).clone();
    }

    synchronized int count() {
        return choices.size();
    }
}
