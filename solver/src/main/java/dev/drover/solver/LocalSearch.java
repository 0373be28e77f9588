package dev.drover.solver;

import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.function.BooleanSupplier;

/**
 * Re-optimizes the free variables of an {@link Elimination} under the true usage limits, the rest being fixed.
 *
 * <pre>
 *   rows      only those that the free variables together can overfill; usually few
 *   prices    g(price) = min over free values of  cost + price * (usage - capacity)   &lt;= best possible cost
 *             raised by Polyak steps; each minimizer that fits is a candidate; g &gt;= present cost: nothing to win
 *   tree      depth first over the values in reverse order of elimination; the messages are the exact cost to go
 *             at these prices, so a branch is cut when its priced cost reaches the best or a row overflows
 * </pre>
 *
 * One instance per thread.
 */
final class LocalSearch {
    private final Core core;
    private final double[][] theta;
    private final int[] relevantBelow;
    private final Budget budget;
    private final BooleanSupplier stop;

    private Elimination plan;
    private int rows;
    private final long[] capacity;
    private final double[] price;
    private final double[] boundPrice;
    private final int[] y;
    private final int[] bestY;
    private double bestCost;
    private double bound;

    private final long[] load;
    private int nodesLeft;
    private double priceAtCapacity;
    private double[][] order = new double[0][];
    private boolean complete;
    private double[][] noise = new double[0][];
    private long work;

    LocalSearch(Core core, Budget budget, BooleanSupplier stop) {
        this.core = core;
        this.budget = budget;
        this.stop = stop;
        this.theta = new double[core.size][];
        for (int v = 0; v < core.size; v++) {
            theta[v] = new double[core.domain[v]];
        }
        this.relevantBelow = new int[core.rows + 1];
        this.capacity = new long[core.rows];
        this.price = new double[core.rows];
        this.boundPrice = new double[core.rows];
        this.load = new long[core.rows + 1];
        this.y = new int[core.size];
        this.bestY = new int[core.size];
        this.plan = Elimination.plan(core, new int[0], 1, 1, new SplittableRandom(0));
    }

    /** How a search ended. */
    enum Outcome {
        /** Better values were set. */
        BETTER,
        /** Proven: the present values are the best of the neighbourhood. */
        PROVEN,
        /** Nothing better was found. */
        NOTHING
    }

    /**
     * Searches.
     *
     * @param elimination free variables
     * @param x present values, replaced if better ones are found; may overfill rows: then fewer overfull units are better
     * @param usage usage of each row at {@code x}, kept up to date
     * @param globalPrice prices to start from
     * @param steps limit of price steps
     * @param nodes limit of tree nodes, 0 for no tree
     * @return how it ended
     */
    Outcome search(Elimination elimination, int[] x, long[] usage, double[] globalPrice, int steps, int nodes) {
        plan = elimination;
        budget.spend(8L * core.size + 16L * core.rows + 100L * plan.order.length);
        System.arraycopy(x, 0, y, 0, x.length);
        plan.fix(y);
        boolean fits = findRows(x, usage, globalPrice);
        double present = fits ? localCost(x) : Double.POSITIVE_INFINITY;
        bestCost = present;
        bound = Double.NEGATIVE_INFINITY;
        long leastExcess = fits ? 0 : excess(x);
        boolean lessExcess = false;
        double agility = 1;
        boolean exact = false;
        System.arraycopy(price, 0, boundPrice, 0, rows);
        int worse = 0;
        for (int step = 0; step < steps && !stop.getAsBoolean(); step++) {
            double priced = minimize() - priceAtCapacity;
            if (priced > bound) {
                bound = priced;
                System.arraycopy(price, 0, boundPrice, 0, rows);
            } else if (++worse % 3 == 0) {
                agility *= 0.6;
            }
            if (!stillOpen(bound)) {
                break;
            }
            fillLoad();
            double norm = 0;
            long over = 0;
            boolean slackPriced = false;
            for (int r = 0; r < rows; r++) {
                double s = load[r] - capacity[r];
                if (s > 0) {
                    over += load[r] - capacity[r];
                    norm += s * s;
                } else if (price[r] > 0 && s < 0) {
                    slackPriced = true;
                    norm += s * s;
                }
            }
            if (over == 0) {
                double cost = localCost(y);
                if (cost < bestCost - 0.5 || (bestCost == Double.POSITIVE_INFINITY && cost < bestCost)) {
                    bestCost = cost;
                    System.arraycopy(y, 0, bestY, 0, y.length);
                }
                if (!slackPriced) {
                    bound = Math.max(bound, cost);
                    exact = isFree();
                    break;
                }
            } else if (bestCost == Double.POSITIVE_INFINITY && over < leastExcess) {
                leastExcess = over;
                lessExcess = true;
                System.arraycopy(y, 0, bestY, 0, y.length);
            }
            double target = bestCost == Double.POSITIVE_INFINITY ? priced + 0.02 * Math.abs(priced) + 1 : bestCost;
            double length = agility * Math.max(target - priced, 1e-6 * Math.abs(priced)) / Math.max(norm, 1e-300);
            for (int r = 0; r < rows; r++) {
                price[r] = Math.max(0, price[r] + length * (load[r] - capacity[r]));
            }
        }
        complete = exact || !stillOpen(bound);
        if (!complete && nodes > 0) {
            System.arraycopy(boundPrice, 0, price, 0, rows);
            tree(nodes);
        }
        if (bestCost < present) {
            apply(x, usage);
            return Outcome.BETTER;
        }
        if (lessExcess) {
            apply(x, usage);
            return Outcome.BETTER;
        }
        return complete ? Outcome.PROVEN : Outcome.NOTHING;
    }

    /**
     * Draws values of the free variables: the cheapest at the prices after noise on each value (perturb and maximize,
     * Papandreou and Yuille 2011). The prices of overfull rows rise until all fit.
     *
     * @param elimination free variables
     * @param x present values, which fit; replaced by those drawn
     * @param usage usage of each row at {@code x}, kept up to date
     * @param globalPrice prices to start from
     * @param temperature scale of the noise, in units of cost
     * @param random of the noise
     * @return whether values that fit were drawn within a few tries
     */
    boolean draw(
            Elimination elimination,
            int[] x,
            long[] usage,
            double[] globalPrice,
            double temperature,
            SplittableRandom random) {
        plan = elimination;
        System.arraycopy(x, 0, y, 0, x.length);
        plan.fix(y);
        if (!findRows(x, usage, globalPrice)) {
            return false;
        }
        noise = new double[core.size][];
        for (int v : plan.order) {
            noise[v] = new double[core.domain[v]];
            for (int k = 0; k < noise[v].length; k++) {
                noise[v][k] = temperature * Math.log(-Math.log(random.nextDouble(1e-12, 1)));
            }
        }
        boolean drawn = false;
        for (int step = 0; step < 8 && !drawn && !stop.getAsBoolean(); step++) {
            minimize();
            fillLoad();
            drawn = true;
            double guess = temperature * plan.order.length * (1 << step);
            for (int r = 0; r < rows; r++) {
                if (load[r] > capacity[r]) {
                    drawn = false;
                    price[r] = 1.5 * price[r] + guess / load[r];
                }
            }
        }
        noise = new double[0][];
        if (drawn && localCost(y) < Double.POSITIVE_INFINITY) {
            System.arraycopy(y, 0, bestY, 0, y.length);
            apply(x, usage);
            return true;
        }
        return false;
    }

    /** Steps of computation done since the beginning, roughly: table entries, tree nodes, rows. */
    long work() {
        return work;
    }

    /** The prices of all rows that gave the latest search's bound. */
    double[] prices() {
        double[] all = new double[core.rows];
        for (int r = 0; r < core.rows; r++) {
            if (relevantBelow[r] < relevantBelow[r + 1]) {
                all[r] = boundPrice[relevantBelow[r]];
            }
        }
        return all;
    }

    /** A proven lower bound of the costs that touch the free variables, from the latest search. */
    double bound() {
        return complete ? bestCost : bound;
    }

    /** Whether the latest search proved its result to be the best of the neighbourhood. */
    boolean complete() {
        return complete;
    }

    /** Whether no row has a price: then the minimum is a sum of whole numbers, and exact. */
    private boolean isFree() {
        for (int r = 0; r < rows; r++) {
            if (price[r] != 0) {
                return false;
            }
        }
        return true;
    }

    private boolean stillOpen(double lower) {
        return lower < bestCost - 1 + core.rounding(Math.abs(bestCost) + priceAtCapacity);
    }

    /** Finds the rows that can overflow and sets their capacity; returns whether {@code x} overfills none. */
    private boolean findRows(int[] x, long[] usage, double[] globalPrice) {
        work += core.size + core.rows;
        long[] most = new long[core.rows + 1];
        long[] present = new long[core.rows + 1];
        for (int v : plan.order) {
            for (int s = 0; s < core.segStart[v].length; s++) {
                long[] u = core.segUsage[v][s];
                long top = 0;
                for (long value : u) {
                    top = Math.max(top, value);
                }
                most[core.segStart[v][s]] += top;
                most[core.segEnd[v][s]] -= top;
                present[core.segStart[v][s]] += u[x[v]];
                present[core.segEnd[v][s]] -= u[x[v]];
            }
        }
        rows = 0;
        boolean fits = true;
        long mostNow = 0;
        long presentNow = 0;
        for (int r = 0; r < core.rows; r++) {
            mostNow += most[r];
            presentNow += present[r];
            relevantBelow[r] = rows;
            long room = core.limit[r] - (usage[r] - presentNow);
            if (mostNow > room && mostNow > 0) {
                fits &= presentNow <= room;
                capacity[rows] = room;
                price[rows] = globalPrice[r];
                rows++;
            }
        }
        relevantBelow[core.rows] = rows;
        return fits;
    }

    private double minimize() {
        double[] prefix = new double[rows + 1];
        priceAtCapacity = 0;
        for (int r = 0; r < rows; r++) {
            prefix[r + 1] = prefix[r] + price[r];
            priceAtCapacity += price[r] * capacity[r];
        }
        for (int v : plan.order) {
            double[] t = theta[v];
            System.arraycopy(core.unary[v], 0, t, 0, t.length);
            for (int s = 0; s < core.segStart[v].length; s++) {
                double p = prefix[relevantBelow[core.segEnd[v][s]]] - prefix[relevantBelow[core.segStart[v][s]]];
                if (p > 0) {
                    long[] u = core.segUsage[v][s];
                    for (int k = 0; k < t.length; k++) {
                        t[k] += p * u[k];
                    }
                }
            }
        }
        for (int i = 0; i < plan.order.length && noise.length > 0; i++) {
            double[] mine = noise[plan.order[i]];
            for (int k = 0; k < mine.length; k++) {
                theta[plan.order[i]][k] += mine[k];
            }
        }
        work += plan.entries() + 50L * plan.order.length;
        budget.spend(3 * plan.entries());
        return plan.minimizeAgain(theta, y);
    }

    /** Sets the load of the free variables on each row at {@code y}. */
    private void fillLoad() {
        Arrays.fill(load, 0, rows + 1, 0);
        for (int v : plan.order) {
            for (int s = 0; s < core.segStart[v].length; s++) {
                long u = core.segUsage[v][s][y[v]];
                load[relevantBelow[core.segStart[v][s]]] += u;
                load[relevantBelow[core.segEnd[v][s]]] -= u;
            }
        }
        for (int r = 1; r < rows; r++) {
            load[r] += load[r - 1];
        }
    }

    private long excess(int[] x) {
        int[] keep = y.clone();
        System.arraycopy(x, 0, y, 0, x.length);
        fillLoad();
        System.arraycopy(keep, 0, y, 0, x.length);
        long over = 0;
        for (int r = 0; r < rows; r++) {
            over += Math.max(0, load[r] - capacity[r]);
        }
        return over;
    }

    private double localCost(int[] x) {
        double sum = 0;
        for (int b = 0; b < plan.order.length; b++) {
            sum += plan.costAt(b, x);
        }
        return sum;
    }

    private void apply(int[] x, long[] usage) {
        long[] change = new long[core.rows + 1];
        for (int v : plan.order) {
            if (x[v] != bestY[v]) {
                for (int s = 0; s < core.segStart[v].length; s++) {
                    long u = core.segUsage[v][s][bestY[v]] - core.segUsage[v][s][x[v]];
                    change[core.segStart[v][s]] += u;
                    change[core.segEnd[v][s]] -= u;
                }
                x[v] = bestY[v];
            }
        }
        long sum = 0;
        for (int r = 0; r < core.rows; r++) {
            sum += change[r];
            usage[r] += sum;
        }
    }

    private void tree(int nodes) {
        nodesLeft = nodes;
        double priced = minimize() - priceAtCapacity;
        Arrays.fill(load, 0, rows + 1, 0);
        if (order.length < plan.order.length) {
            order = new double[plan.order.length][];
        }
        complete = true;
        descend(plan.order.length - 1, priced);
        work += 100L * (nodes - nodesLeft);
    }

    /** Tries the values of bucket {@code b}, the later ones being set; {@code priced} bounds the cost of this branch. */
    private void descend(int b, double priced) {
        if (b < 0) {
            double cost = localCost(y);
            if (cost < bestCost - 0.5 || (bestCost == Double.POSITIVE_INFINITY && cost < bestCost)) {
                bestCost = cost;
                System.arraycopy(y, 0, bestY, 0, y.length);
            }
            return;
        }
        int v = plan.order[b];
        int width = core.domain[v];
        double[] values = order[b];
        if (values == null || values.length < width) {
            values = new double[width];
            order[b] = values;
        }
        System.arraycopy(plan.valuesOf(b, y), 0, values, 0, width);
        double least = Double.POSITIVE_INFINITY;
        for (int k = 0; k < width; k++) {
            least = Math.min(least, values[k]);
        }
        double last = Double.NEGATIVE_INFINITY;
        int lastIndex = -1;
        while (true) {
            int next = -1;
            for (int k = 0; k < width; k++) {
                boolean after = values[k] > last || (values[k] == last && k > lastIndex);
                if (after && (next < 0 || values[k] < values[next])) {
                    next = k;
                }
            }
            if (next < 0 || !stillOpen(priced + values[next] - least)) {
                return;
            }
            if (--nodesLeft < 0) {
                complete = false;
                return;
            }
            if ((nodesLeft & 255) == 0) {
                budget.spend(256 * 300);
                if (stop.getAsBoolean()) {
                    nodesLeft = 0;
                }
            }
            last = values[next];
            lastIndex = next;
            y[v] = next;
            if (place(v, next, 1)) {
                descend(b - 1, priced + values[next] - least);
            }
            place(v, next, -1);
            if (nodesLeft <= 0) {
                complete = false;
                return;
            }
        }
    }

    /** Adds or takes away the usage of a value; returns whether all its rows still fit. */
    private boolean place(int v, int value, int sign) {
        boolean fits = true;
        for (int s = 0; s < core.segStart[v].length; s++) {
            long u = core.segUsage[v][s][value];
            if (u != 0) {
                for (int r = relevantBelow[core.segStart[v][s]]; r < relevantBelow[core.segEnd[v][s]]; r++) {
                    load[r] += sign * u;
                    fits &= load[r] <= capacity[r];
                }
            }
        }
        return fits;
    }
}
