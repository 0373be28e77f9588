package dev.drover.solver;

import java.util.Arrays;

/**
 * Moves the prices of the usage rows so that the bound rises.
 *
 * <pre>
 *   direction   mean excess of the choices decoded on the way up and down, averaged over the last sweeps
 *   rows        those that have a price, and of the others only the fullest of one, two or four stretches of time: rows
 *               near each other in time have nearly the same variables, and one price does for all of them
 *   step        as long as would bring the bound to a level above the best, if it were linear (Polyak)
 *   level       rises while half of it is gained, falls after 15 sweeps without; a new wave begins when it is small
 *   pace        what the next sweeps do: what raised the bound most lately
 *   overshoot   far below the best bound for some sweeps: back to its prices and messages
 * </pre>
 */
final class PriceSteps {
    /** What to do with the prices; which is best differs from problem to problem and from phase to phase. */
    private enum Pace {
        /** Of the rows without a price the fullest one may get one. */
        FULLEST(1),
        /** The fullest of each half of the time. */
        TWO_FULLEST(2),
        /** The fullest of each quarter. */
        FOUR_FULLEST(4),
        /** They stay at the best ones, so that the messages catch up. */
        REST(0);

        /** Stretches of time of which the fullest row may get a price. */
        private final int stretches;

        Pace(int stretches) {
            this.stretches = stretches;
        }
    }

    private static final Pace[] PACES = Pace.values();

    /** Sweeps after which the pace is chosen anew. */
    private static final int BLOCK = 12;

    /** Part of the bound at which the level of a new wave begins. */
    private static final double FIRST_LEVEL = 3e-4;

    /** Part of the bound at which the level is so small that a new wave begins. */
    private static final double LEAST_LEVEL = 2e-5;

    /** Levels below the best bound from which a bound counts as far off. */
    private static final double OVERSHOT = 10;

    private final Core core;
    private final DualBound dual;
    private final double[] direction;
    /** How far above the best bound the steps aim. */
    private double level = Double.NaN;

    private double gained;
    private int since;
    private int far;
    private double bestAtWave = Double.NEGATIVE_INFINITY;
    private boolean settled;

    private Pace pace = PACES[0];
    private final double[] rate = new double[PACES.length];
    private double bestAtBlock;
    private int blocks;
    private int blockEnd;

    PriceSteps(Core core, DualBound dual) {
        this.core = core;
        this.dual = dual;
        this.direction = new double[core.rows];
    }

    /** Goes on with the level of the steps in a larger core. */
    void goOnFrom(PriceSteps old) {
        level = old.level;
    }

    /** Whether a whole wave of steps, from large to small, gained next to nothing. */
    boolean settled() {
        return settled;
    }

    /**
     * Notes the bound of the latest sweep and moves the prices.
     *
     * @param bound of the latest sweep
     * @param ceiling what the bound can reach at most: the cost of the best choice, infinite if there is none
     */
    void step(double bound, double ceiling) {
        gained += dual.keep(bound);
        double best = dual.best();
        if (core.rows == 0) {
            if (++since >= 50) {
                settled = gained < 1e-6 * Math.abs(best);
                gained = 0;
                since = 0;
            }
            return;
        }
        if (Double.isNaN(level)) {
            level = 0.05 * Math.abs(best) + 1;
        }
        choosePace(best);
        if (pace == Pace.REST) {
            return;
        }
        if (changeLevel(bound, best)) {
            Arrays.fill(direction, 0);
            dual.restore();
            return;
        }
        move(bound, best, ceiling);
    }

    /** Raises or lowers the level; returns whether to go back to the best prices. */
    private boolean changeLevel(double bound, double best) {
        since++;
        far = best - bound > OVERSHOT * level ? far + 1 : 0;
        if (far >= 4) {
            // The step went too far, to prices of another world.
            far = 0;
            level *= 0.6;
            gained = 0;
            since = 0;
            return true;
        }
        if (gained > 0.5 * level) {
            level *= 1.4;
            gained = 0;
            since = 0;
        } else if (since >= 15) {
            level *= 0.6;
            gained = 0;
            since = 0;
            if (bound < best - 0.25 * Math.abs(best)) {
                return true;
            }
        }
        if (level < LEAST_LEVEL * Math.abs(best)) {
            // A new wave of larger steps.
            settled = best - bestAtWave < 1e-4 * Math.abs(best)
                    && rate[Pace.REST.ordinal()] < 1e-6 * Math.abs(best)
                    && blocks > 4 * PACES.length;
            bestAtWave = best;
            level = FIRST_LEVEL * Math.abs(best);
            return true;
        }
        return false;
    }

    private void move(double bound, double best, double ceiling) {
        double[] price = dual.price;
        long[] usage = core.usage(dual.decoded);
        long[] usageDown = core.usage(dual.decodedDown);
        double norm = 0;
        for (int r = 0; r < core.rows; r++) {
            double excess = 0.5 * usage[r] + 0.5 * usageDown[r] - core.limit[r];
            if (price[r] == 0 && excess < 0) {
                excess = 0;
            }
            direction[r] = 0.7 * direction[r] + 0.3 * excess;
            if (price[r] == 0 && direction[r] < 0) {
                direction[r] = 0;
            }
        }
        double[] weight = weights();
        for (int r = 0; r < core.rows; r++) {
            norm += weight[r] * direction[r] * direction[r];
        }
        if (norm == 0) {
            return;
        }
        double aim = Math.min(best + level, Math.max(ceiling, best + 1e-6 * Math.abs(best)));
        double length = Math.min(aim - bound, 2 * (aim - best)) / norm;
        double[] next = new double[core.rows];
        for (int r = 0; r < core.rows; r++) {
            next[r] = Math.max(0, price[r] + length * weight[r] * direction[r]);
        }
        dual.moveTo(next);
    }

    /** Chooses what the next sweeps do: what raised the bound most lately, the others in turn now and then. */
    private void choosePace(double best) {
        if (dual.sweeps() < blockEnd) {
            return;
        }
        rate[pace.ordinal()] = 0.5 * rate[pace.ordinal()] + (blocks == 0 ? 0 : 0.5 * (best - bestAtBlock));
        blocks++;
        Pace next = PACES[blocks / 4 % PACES.length];
        if (blocks < 2 * PACES.length) {
            next = PACES[blocks % PACES.length];
        } else if (blocks % 4 != 0) {
            for (Pace other : PACES) {
                next = rate[other.ordinal()] > rate[next.ordinal()] ? other : next;
            }
        }
        if (next == Pace.REST && pace != Pace.REST) {
            Arrays.fill(direction, 0);
            dual.restore();
        }
        pace = next;
        bestAtBlock = best;
        blockEnd = dual.sweeps() + BLOCK;
    }

    /**
     * How far each row's price goes for one unit of excess: in proportion to its price plus the mean price, so that of many rows with
     * nearly the same variables the fullest takes over the price of the others; 0 for rows that get none.
     */
    private double[] weights() {
        double[] weight = new double[core.rows];
        double mass = 0;
        int priced = 0;
        for (double p : dual.price) {
            mass += p;
            priced += p > 0 ? 1 : 0;
        }
        double mean = priced == 0 ? 1 : mass / priced;
        for (int r = 0; r < core.rows; r++) {
            weight[r] = dual.price[r] > 0 ? dual.price[r] + mean : 0;
        }
        for (int s = 0; s < pace.stretches; s++) {
            int to = (int) ((long) core.rows * (s + 1) / pace.stretches);
            int fullest = (int) ((long) core.rows * s / pace.stretches);
            for (int r = fullest; r < to; r++) {
                fullest = direction[r] > direction[fullest] ? r : fullest;
            }
            if (fullest < to && dual.price[fullest] == 0) {
                weight[fullest] = mean;
            }
        }
        return weight;
    }
}
