package dev.drover.plan.schedule;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/**
 * When each action of a schedule ends if computing and sending are asynchronous: an action starts when its stage has ended the
 * one before and its input has come; a transfer starts when its value is made and its link's direction has ended the transfer
 * before (links are FIFO, one direction does not hinder the other).
 *
 * @param endByStage by stage, by position in its list
 * @param length when the last action ends
 */
public record ScheduleLength(List<List<Double>> endByStage, double length) {

    /** Durations of one forward or backward pass per stage, and of a transfer from stage s to s+1 (or back). */
    public record Durations(
            List<Double> forward, List<Double> backward, List<Double> forwardHop, List<Double> backwardHop) {
        public Durations {
            forward = List.copyOf(forward);
            backward = List.copyOf(backward);
            forwardHop = List.copyOf(forwardHop);
            backwardHop = List.copyOf(backwardHop);
        }

        /** The same for all stages and hops. */
        public static Durations uniform(int stages, double forward, double backward, double hop) {
            List<Double> hops = Collections.nCopies(stages, hop);
            return new Durations(
                    Collections.nCopies(stages, forward), Collections.nCopies(stages, backward), hops, hops);
        }
    }

    /** Simulates a schedule. */
    public static ScheduleLength of(Schedule schedule, Durations durations) {
        int stages = schedule.stages();
        int last = stages - 1;
        double[][] arrivedForward = unset(stages, schedule.microBatches());
        double[][] arrivedBackward = unset(stages, schedule.microBatches());
        List<List<Double>> ends = new ArrayList<>();
        double[] stageFree = new double[stages];
        double[] forwardLinkFree = new double[stages];
        double[] backwardLinkFree = new double[stages];
        int[] next = new int[stages];
        int remaining = 0;
        for (int s = 0; s < stages; s++) {
            ends.add(new ArrayList<>());
            remaining += schedule.stage(s).size();
        }
        double length = 0;
        while (remaining > 0) {
            for (int s = 0; s < stages; s++) {
                List<Action> actions = schedule.stage(s);
                while (next[s] < actions.size()) {
                    Action action = actions.get(next[s]);
                    int m = action.microBatch();
                    boolean first = action.forward() ? s == 0 : s == last;
                    double arrived = first ? 0 : action.forward() ? arrivedForward[s][m] : arrivedBackward[s][m];
                    if (arrived < 0) {
                        break;
                    }
                    double end = Math.max(stageFree[s], arrived)
                            + (action.forward()
                                    ? durations.forward().get(s)
                                    : durations.backward().get(s));
                    stageFree[s] = end;
                    ends.get(s).add(end);
                    next[s]++;
                    remaining--;
                    length = Math.max(length, end);
                    if (action.forward() && s < last) {
                        forwardLinkFree[s] = Math.max(forwardLinkFree[s], end)
                                + durations.forwardHop().get(s);
                        arrivedForward[s + 1][m] = forwardLinkFree[s];
                    } else if (!action.forward() && s > 0) {
                        backwardLinkFree[s] = Math.max(backwardLinkFree[s], end)
                                + durations.backwardHop().get(s - 1);
                        arrivedBackward[s - 1][m] = backwardLinkFree[s];
                    }
                }
            }
        }
        return new ScheduleLength(ends, length);
    }

    private static double[][] unset(int stages, int microBatches) {
        double[][] out = new double[stages][microBatches];
        for (double[] row : out) {
            Arrays.fill(row, -1);
        }
        return out;
    }
}
