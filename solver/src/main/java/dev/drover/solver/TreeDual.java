package dev.drover.solver;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The best prices of the usage rows of a core that is narrow enough for exact elimination.
 *
 * <pre>
 *   cut       elimination at prices q gives a bound and a choice; its excess g is a slope: at prices p no more than
 *             bound(q) + g * (p - q) can be proven
 *   model     the least of all cuts kept: what is best to be hoped for at each p
 *   step      to where the model, less the squared distance from the best prices over twice the reach, is greatest; a mixture of
 *             cuts says where: prices = max(0, best prices + reach * mixed excess)
 *   reach     grows while the model keeps its word, shrinks while it does not
 * </pre>
 *
 * <p>The mixture is moved from the cut that is greatest there to the one that is least, pair by pair. A few dozen steps come nearer to the best
 * prices than thousands of steps along single slopes: some hundred rows of layers bind together. Source: proximal bundle method, Kiwiel 1990.
 */
final class TreeDual {
    private static final int MOST_CUTS = 60;
    private static final int MOST_MOVES = 400;

    /** Difference of cuts in the mixture, as a part of what the step promises, that is small enough. */
    private static final double EVEN = 0.05;

    /** Part of what was promised from which on a step counts, and part from which on the reach grows. */
    private static final double KEPT = 0.1;

    private static final double WELL_KEPT = 0.5;
    private static final double GROWTH = 2;
    private static final double SHRINKAGE = 0.7;

    /** Broken promises before the reach shrinks. */
    private static final int PATIENCE = 3;

    /** Part of the bound that the first step aims at. */
    private static final double FIRST_AIM = 0.02;

    /** Where little is promised the reach is enlarged so often, by so much: what is near may only look level. */
    private static final int MOST_LEAPS = 12;

    private static final double LEAP = 5;
    private static final double LITTLE = 1e-7;

    /** Steps that must gain something together, and how much, as a part of the bound. */
    private static final int WINDOW = 20;

    private static final double LEAST_GAIN = 1e-5;

    private final Core core;
    private final Elimination tree;
    private final Budget budget;
    private final int[] decoded;

    private double[] price;
    private double[] bestPrice;
    private double best = Double.NEGATIVE_INFINITY;
    private double promised;
    private double reach = Double.NaN;
    private int broken;
    private int steps;
    private double bestAtWindow = Double.NEGATIVE_INFINITY;
    private boolean settled;

    /** Of each cut its slopes, its value at prices 0, its part of the mixture. */
    private final List<double[]> slopes = new ArrayList<>();

    private final double[] atZero = new double[MOST_CUTS];
    private final double[] part = new double[MOST_CUTS];
    /** Slopes of the mixture. */
    private final double[] mixed;
    /** Rows with a price. */
    private final int[] priced;

    /**
     * Begins.
     *
     * @param tree frees all variables of the core
     * @param price of each row, to begin with
     */
    TreeDual(Core core, Elimination tree, double[] price, Budget budget) {
        this.core = core;
        this.tree = tree;
        this.budget = budget;
        this.price = price.clone();
        this.bestPrice = price.clone();
        this.decoded = new int[core.size];
        this.mixed = new double[core.rows];
        this.priced = new int[core.rows];
    }

    /** The best bound so far: no choice that fits costs less. */
    double best() {
        return best;
    }

    /** Prices of the best bound. */
    double[] bestPrice() {
        return bestPrice;
    }

    /** The cheapest choice at the latest prices. */
    int[] decoded() {
        return decoded;
    }

    /** Whether further steps gain next to nothing. */
    boolean settled() {
        return settled;
    }

    /** Makes a step and returns the bound there, rounded down by what doubles can be wrong by. */
    double step() {
        budget.check();
        budget.spend(3 * tree.entries());
        double bound = safe(tree.minimize(core.priced(price), decoded), price);
        cut(bound);
        judge(bound);
        move();
        if (++steps % WINDOW == 0) {
            settled |= best - bestAtWindow < LEAST_GAIN * Math.abs(best);
            bestAtWindow = best;
        }
        return bound;
    }

    /**
     * Finds the values that no choice cheaper than the best can have, at the best prices.
     *
     * @param cost of the best choice
     * @param choice its values, which stay
     * @return per variable and value whether it stays
     */
    boolean[][] worthKeeping(double cost, int[] choice) {
        double bound = safe(tree.collect(core.priced(bestPrice), new int[core.size]), bestPrice);
        double room = Incumbent.mostBelow(cost) - bound;
        double[][] surplus = tree.surplus();
        budget.spend(4 * tree.entries());
        boolean[][] keep = new boolean[core.size][];
        for (int v = 0; v < keep.length; v++) {
            keep[v] = new boolean[core.domain[v]];
            for (int k = 0; k < keep[v].length; k++) {
                keep[v][k] = k == choice[v] || surplus[v][k] <= room;
            }
        }
        return keep;
    }

    /** The bound that a least priced cost gives. */
    private double safe(double least, double[] at) {
        double atLimit = core.atLimit(at);
        double bound = core.constant - atLimit + least;
        return bound - core.rounding(Math.abs(bound) + atLimit);
    }

    /** Keeps the slopes at the latest prices, in the place of the cut that the mixture needs least. */
    private void cut(double bound) {
        long[] usage = core.usage(decoded);
        double[] slope = new double[core.rows];
        double value = bound;
        for (int r = 0; r < slope.length; r++) {
            slope[r] = usage[r] - core.limit[r];
            value -= slope[r] * price[r];
        }
        int at = slopes.size();
        if (at < MOST_CUTS) {
            part[at] = at == 0 ? 1 : 0;
            slopes.add(slope);
        } else {
            at = 0;
            for (int i = 1; i < MOST_CUTS; i++) {
                at = part[i] < part[at] ? i : at;
            }
            slopes.set(at, slope);
        }
        atZero[at] = value;
    }

    /** Takes the latest prices for the best ones if they keep a part of the promise, and sets the reach. */
    private void judge(double bound) {
        if (steps == 0) {
            best = bound;
            double norm = 0;
            for (int r = 0; r < core.rows; r++) {
                double slope = slopes.get(0)[r];
                norm += price[r] > 0 || slope > 0 ? slope * slope : 0;
            }
            reach = (FIRST_AIM * Math.abs(bound) + 1) / Math.max(norm, 1e-300);
            return;
        }
        double gain = bound - best;
        if (gain > 0 && gain >= KEPT * promised) {
            best = bound;
            bestPrice = price;
            broken = 0;
            reach *= gain >= WELL_KEPT * promised ? GROWTH : 1;
        } else if (++broken >= PATIENCE) {
            broken = 0;
            reach *= SHRINKAGE;
        }
    }

    /** Finds the next prices; settled if nothing is promised anywhere. */
    private void move() {
        mix();
        int leaps = 0;
        while (promised < Math.max(0.01, LITTLE * Math.abs(best))) {
            if (++leaps > MOST_LEAPS) {
                settled = true;
                return;
            }
            reach *= LEAP;
            mix();
        }
    }

    /** Moves the mixture, and sets the prices to where it leads and what it promises there. */
    private void mix() {
        int cuts = slopes.size();
        double[] next = new double[core.rows];
        double[] value = new double[cuts];
        sumUp();
        long work = 0;
        for (int moves = 0; ; moves++) {
            int count = 0;
            for (int r = 0; r < next.length; r++) {
                next[r] = Math.max(0, bestPrice[r] + reach * mixed[r]);
                if (next[r] > 0) {
                    priced[count++] = r;
                }
            }
            int least = 0;
            int most = -1;
            double promise = 0;
            for (int i = 0; i < cuts; i++) {
                double[] slope = slopes.get(i);
                double sum = atZero[i];
                for (int j = 0; j < count; j++) {
                    sum += slope[priced[j]] * next[priced[j]];
                }
                value[i] = sum;
                least = sum < value[least] ? i : least;
                most = part[i] > 0 && (most < 0 || sum > value[most]) ? i : most;
                promise += part[i] * sum;
            }
            work += (long) cuts * count + 4L * next.length;
            promised = promise - best;
            double uneven = value[most] - value[least];
            if (moves == MOST_MOVES || uneven <= EVEN * Math.max(promised, 1e-9 * Math.abs(best))) {
                break;
            }
            double[] up = slopes.get(least);
            double[] down = slopes.get(most);
            double norm = 0;
            for (int r = 0; r < next.length; r++) {
                double more = up[r] - down[r];
                norm += next[r] > 0 || more > 0 ? more * more : 0;
            }
            double amount = Math.min(part[most], uneven / Math.max(reach * norm, 1e-300));
            part[most] -= amount;
            part[least] += amount;
            for (int r = 0; r < next.length; r++) {
                mixed[r] += amount * (up[r] - down[r]);
            }
        }
        budget.spend(work);
        price = next;
    }

    private void sumUp() {
        Arrays.fill(mixed, 0);
        for (int i = 0; i < slopes.size(); i++) {
            for (int r = 0; r < mixed.length && part[i] > 0; r++) {
                mixed[r] += part[i] * slopes.get(i)[r];
            }
        }
    }
}
