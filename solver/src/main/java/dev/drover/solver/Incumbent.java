package dev.drover.solver;

import java.util.ArrayList;
import java.util.List;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** The best choice and the best bound so far; safe for several threads. */
final class Incumbent {
    private Core core;
    private final long startNanos;
    private final LongSupplier nanoClock;
    private final ProgressListener listener;
    private final List<Improvement> improvements = new ArrayList<>();
    private int @Nullable [] best;
    private double cost = Double.POSITIVE_INFINITY;
    private double bound = 0;

    Incumbent(Core core, long startNanos, LongSupplier nanoClock, ProgressListener listener) {
        this.core = core;
        this.startNanos = startNanos;
        this.nanoClock = nanoClock;
        this.listener = listener;
    }

    /** Takes a choice that fits, if it is cheaper than the best. */
    synchronized void offer(int[] x, String phase) {
        double now = core.cost(x);
        if (now < cost) {
            cost = now;
            best = x.clone();
            report(phase);
        }
    }

    /** Takes a proven bound, if it is higher; small increases are not reported. */
    synchronized void raise(double proven, String phase) {
        prove(rounded(proven), phase);
    }

    /** Takes a whole cost that no choice is below, proven with the margin for rounding; small increases are not reported. */
    synchronized void prove(double wholeCost, String phase) {
        if (wholeCost > bound) {
            boolean worth = wholeCost > bound * 1.001 || wholeCost >= cost;
            bound = wholeCost;
            if (worth) {
                report(phase);
            }
        }
    }

    /** Declares the best choice to be proven optimal. */
    synchronized void prove(String phase) {
        if (bound < cost) {
            bound = cost;
            report(phase);
        }
    }

    /** The least integer that a cost can be, with a margin for rounding. */
    static double rounded(double proven) {
        return Math.ceil(proven - 1e-3 - 1e-11 * Math.abs(proven));
    }

    /** The most that a choice cheaper than a whole cost can cost, with a margin for rounding. */
    static double mostBelow(double cost) {
        return cost - 1 + 0.01 + 1e-9 * Math.abs(cost);
    }

    private void report(String phase) {
        Improvement step = new Improvement(
                (nanoClock.getAsLong() - startNanos) / 1e9,
                cost == Double.POSITIVE_INFINITY ? Long.MAX_VALUE : (long) cost,
                (long) Math.min(bound, cost),
                phase);
        improvements.add(step);
        listener.improved(step);
    }

    /** Goes over to a core with fewer values, the best choice's among them. */
    synchronized void moveTo(Core smaller, boolean[][] keep) {
        core = smaller;
        if (best != null) {
            for (int v = 0; v < keep.length; v++) {
                int kept = 0;
                for (int k = 0; k < best[v]; k++) {
                    kept += keep[v][k] ? 1 : 0;
                }
                best[v] = kept;
            }
        }
    }

    synchronized Core core() {
        return core;
    }

    synchronized double cost() {
        return cost;
    }

    synchronized double bound() {
        return bound;
    }

    synchronized int @Nullable [] best() {
        return best == null ? null : best.clone();
    }

    synchronized boolean closed(double targetGap) {
        return bound >= cost || (cost < Double.POSITIVE_INFINITY && (cost - bound) <= targetGap * cost);
    }

    synchronized List<Improvement> improvements() {
        return List.copyOf(improvements);
    }
}
