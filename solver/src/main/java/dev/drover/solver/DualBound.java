package dev.drover.solver;

import java.util.Arrays;
import java.util.IdentityHashMap;
import java.util.stream.IntStream;

/**
 * Lower bound by message passing, with a price for each usage row that is raised while it helps.
 *
 * <pre>
 *   bound = constant - sum_r price[r] * limit[r] + sum_v min theta_v  (the rests of the edges are 0 or more)
 *
 *   theta_v = unary_v + prices of v's usage + all messages to v
 * </pre>
 *
 * <p>Any messages and any prices not below 0 give a valid bound. A sweep collects into each variable the min-marginals
 * of its edges and gives them on in the direction of the sweep, which never lowers the bound (sequential reweighted
 * message passing, Kolmogorov 2015). After each sweep {@link PriceSteps} moves the prices. Forbidden pairs count as a large finite cost, which can only lower the bound.
 */
final class DualBound {
    /** Sweeps for which a variable counts as lively after its decoded value changed. */
    private static final int LIVELY = 40;

    /** The largest step of messages, and how many powers of two below the largest cost it is at least. */
    private static final double COARSEST = 1.0 / 16;

    private static final int PRECISION = 26;

    private final Core core;
    private final Budget budget;
    private final double[][] theta;
    private final double[] scratch;
    private final double[] values;
    private final CollectedBefore collected = new CollectedBefore();
    /** Messages move by multiples of this power of two: sums of them and of whole costs are exact, and equal layers stay equal. */
    private final double quantum;

    private final double[][] messageA;
    private final double[][] messageB;
    /** The matrices with a's values as rows, and with b's. */
    private final Side[] sideA;

    private final Side[] sideB;
    private final int[] forward;
    private final int[] backward;

    /** Price of one unit of usage of each row. */
    final double[] price;

    private final double[] bestPrice;
    private final double[][] bestTheta;
    private final double[][] bestMessageA;
    private final double[][] bestMessageB;
    private boolean saved;
    private double best = Double.NEGATIVE_INFINITY;

    /** While values are sorted out: what each costs more than the best one of its variable, at least. */
    private double[][] surplus = new double[0][];

    /** The choice decoded by the latest sweep up. */
    final int[] decoded;

    /** The choice decoded by the latest sweep down. */
    final int[] decodedDown;

    /** The latest sweep in which the decoded value changed. */
    private final int[] changedAt;

    private int sweeps;
    private int matrices;
    private final PriceSteps steps;

    DualBound(Core core, Budget budget) {
        this.core = core;
        this.budget = budget;
        double cap = 1;
        double most = 1;
        for (double[] row : core.unary) {
            double here = largestFinite(row);
            cap += here;
            most = Math.max(most, here);
        }
        IdentityHashMap<double[], Double> largest = new IdentityHashMap<>();
        for (double[] m : core.edgeCost) {
            double here = largest.computeIfAbsent(m, DualBound::largestFinite);
            cap += here;
            most = Math.max(most, here);
        }
        quantum = Math.min(COARSEST, Math.scalb(1.0, Math.getExponent(most) - PRECISION));
        cap = Math.min(cap, 1e15);
        theta = new double[core.size][];
        scratch = new double[Arrays.stream(core.domain).max().orElse(1)];
        values = new double[scratch.length];
        forward = new int[core.size];
        backward = new int[core.size];
        for (int v = 0; v < core.size; v++) {
            theta[v] = capped(core.unary[v].clone(), cap);
        }
        messageA = new double[core.edgeCount][];
        messageB = new double[core.edgeCount][];
        sideA = new Side[core.edgeCount];
        sideB = new Side[core.edgeCount];
        IdentityHashMap<double[], Side> sides = new IdentityHashMap<>();
        for (int e = 0; e < core.edgeCount; e++) {
            int a = core.edgeA[e];
            int b = core.edgeB[e];
            messageA[e] = new double[core.domain[a]];
            messageB[e] = new double[core.domain[b]];
            sideA[e] = side(core.edgeCost[e], core.domain[b], cap, sides);
            sideB[e] = side(core.edgeCostTransposed[e], core.domain[a], cap, sides);
            forward[Math.min(a, b)]++;
            backward[Math.max(a, b)]++;
        }
        price = new double[core.rows];
        bestPrice = new double[core.rows];
        bestTheta = zeros(theta);
        bestMessageA = zeros(messageA);
        bestMessageB = zeros(messageB);
        decoded = new int[core.size];
        decodedDown = new int[core.size];
        changedAt = new int[core.size];
        steps = new PriceSteps(core, this);
    }

    /** A matrix with the range of each row; edges that share the matrix share these. */
    private static final class Side {
        private final double[] costs;
        private final int number;
        private final double[] least;
        private final double[] most;

        private Side(double[] costs, int width, int number) {
            this.costs = costs;
            this.number = number;
            this.least = leastOfRows(costs, width);
            this.most = mostOfRows(costs, width);
        }
    }

    private Side side(double[] costs, int width, double cap, IdentityHashMap<double[], Side> known) {
        Side side = known.get(costs);
        // The same array may belong to another shape.
        if (side == null || side.least.length != costs.length / width) {
            side = new Side(capped(costs, cap), width, matrices++);
            known.put(costs, side);
        }
        return side;
    }

    /** Goes on in a core with fewer values: prices and messages stay, the bound is the old one at least. */
    DualBound(Core core, DualBound old, boolean[][] keep) {
        this(core, old.budget);
        old.restore();
        for (int e = 0; e < core.edgeCount; e++) {
            select(old.messageA[e], keep[core.edgeA[e]], messageA[e]);
            select(old.messageB[e], keep[core.edgeB[e]], messageB[e]);
            add(theta[core.edgeA[e]], messageA[e]);
            add(theta[core.edgeB[e]], messageB[e]);
        }
        moveTo(old.price);
        System.arraycopy(old.bestPrice, 0, bestPrice, 0, bestPrice.length);
        best = old.best;
        steps.goOnFrom(old.steps);
        for (int v = 0; v < core.size; v++) {
            int kept = 0;
            for (int k = 0; k < old.decoded[v]; k++) {
                kept += keep[v][k] ? 1 : 0;
            }
            decoded[v] = keep[v][old.decoded[v]] ? kept : 0;
            changedAt[v] = -LIVELY;
        }
        save();
    }

    private static void select(double[] from, boolean[] keep, double[] to) {
        int count = 0;
        for (int k = 0; k < from.length; k++) {
            if (keep[k]) {
                to[count++] = from[k];
            }
        }
    }

    private static double[] leastOfRows(double[] m, int width) {
        double[] least = new double[m.length / width];
        for (int r = 0; r < least.length; r++) {
            least[r] = m[r * width];
            for (int k = 1; k < width; k++) {
                least[r] = Math.min(least[r], m[r * width + k]);
            }
        }
        return least;
    }

    private static double[] mostOfRows(double[] m, int width) {
        double[] most = new double[m.length / width];
        for (int r = 0; r < most.length; r++) {
            most[r] = m[r * width];
            for (int k = 1; k < width; k++) {
                most[r] = Math.max(most[r], m[r * width + k]);
            }
        }
        return most;
    }

    private static void add(double[] row, double[] more) {
        for (int k = 0; k < row.length; k++) {
            row[k] += more[k];
        }
    }

    /**
     * Finds the values that no choice cheaper than the best can have, at the best prices.
     *
     * @param cost of the best choice
     * @param best its values, which stay
     * @return per variable and value whether it stays
     */
    boolean[][] worthKeeping(double cost, int[] best) {
        restore();
        for (int i = 0; i < 6; i++) {
            sweep();
        }
        double bound = bound();
        surplus = new double[core.size][];
        for (int v = 0; v < core.size; v++) {
            surplus[v] = new double[core.domain[v]];
        }
        sweep();
        boolean[][] keep = new boolean[core.size][];
        for (int v = 0; v < core.size; v++) {
            keep[v] = new boolean[core.domain[v]];
            for (int k = 0; k < keep[v].length; k++) {
                keep[v][k] = k == best[v] || bound + surplus[v][k] <= Incumbent.mostBelow(cost);
            }
        }
        surplus = new double[0][];
        return keep;
    }

    private static double largestFinite(double[] row) {
        double most = 0;
        for (double value : row) {
            if (value != Double.POSITIVE_INFINITY) {
                most = Math.max(most, value);
            }
        }
        return most;
    }

    /** The costs, none above the cap; the same array if none is. */
    private static double[] capped(double[] row, double cap) {
        boolean within = true;
        for (double value : row) {
            within &= value <= cap;
        }
        if (within) {
            return row;
        }
        double[] copy = row.clone();
        for (int i = 0; i < copy.length; i++) {
            copy[i] = Math.min(copy[i], cap);
        }
        return copy;
    }

    double best() {
        return best;
    }

    double[] bestPrice() {
        return bestPrice;
    }

    /** Entries that a sweep reads, its work. */
    long entriesPerSweep() {
        long sum = 0;
        for (Side side : sideA) {
            sum += 2L * side.costs.length;
        }
        return sum + 64L * core.size;
    }

    /** One sweep up and one down; returns the bound after it. Throws {@link Budget.Late} if the time ends before. */
    double sweep() {
        sweeps++;
        collected.beginSweep();
        for (int v = 0; v < core.size; v++) {
            if ((v & 255) == 0) {
                budget.check();
            }
            visit(v, true);
        }
        for (int v = core.size - 1; v >= 0; v--) {
            if ((v & 255) == 0) {
                budget.check();
            }
            visit(v, false);
        }
        return bound();
    }

    private void visit(int v, boolean up) {
        double[] mine = theta[v];
        int width = mine.length;
        double[] least = scratch;
        for (int e : core.incident[v]) {
            if ((core.other(e, v) > v) == up) {
                // Nothing changed there since the sweep in the other direction collected it.
                continue;
            }
            boolean first = core.edgeA[e] == v;
            double[] to = first ? messageA[e] : messageB[e];
            collect(first ? sideB[e] : sideA[e], first ? messageB[e] : messageA[e], width);
            for (int k = 0; k < width; k++) {
                mine[k] += least[k] - to[k];
                to[k] = least[k];
            }
        }
        decode(v, up);
        if (surplus.length > 0) {
            double low = Double.POSITIVE_INFINITY;
            for (double value : mine) {
                low = Math.min(low, value);
            }
            for (int k = 0; k < width; k++) {
                surplus[v][k] = Math.max(surplus[v][k], mine[k] - low);
            }
        }
        int ahead = up ? forward[v] : backward[v];
        if (ahead == 0) {
            return;
        }
        double weight = 1.0 / Math.max(forward[v], backward[v]);
        double floor = Double.POSITIVE_INFINITY;
        for (double value : mine) {
            floor = Math.min(floor, value);
        }
        double[] share = values;
        double scale = weight / quantum;
        for (int k = 0; k < width; k++) {
            share[k] = quantum * Math.floor(scale * (mine[k] - floor));
        }
        for (int e : core.incident[v]) {
            if ((core.other(e, v) > v) == up) {
                double[] to = core.edgeA[e] == v ? messageA[e] : messageB[e];
                for (int k = 0; k < width; k++) {
                    to[k] -= share[k];
                }
            }
        }
        for (int k = 0; k < width; k++) {
            mine[k] -= ahead * share[k];
        }
    }

    /**
     * Sets {@code scratch[k]} to the least {@code m[row][k] - other[row]}. A row whose least entry is above the greatest of
     * another gives nothing.
     */
    private void collect(Side side, double[] other, int width) {
        double[] m = side.costs;
        double[] low = side.least;
        double[] high = side.most;
        if (collected.find(side.number, m.length, other, width, scratch)) {
            return;
        }
        double ceiling = Double.POSITIVE_INFINITY;
        for (int r = 0; r < other.length; r++) {
            double top = high[r] - other[r];
            ceiling = top < ceiling ? top : ceiling;
        }
        double[] least = scratch;
        Arrays.fill(least, 0, width, Double.POSITIVE_INFINITY);
        for (int r = 0, row = 0; r < other.length; r++, row += width) {
            double from = other[r];
            if (low[r] - from > ceiling) {
                continue;
            }
            for (int k = 0; k < width; k++) {
                least[k] = Math.min(least[k], m[row + k] - from);
            }
        }
        collected.keep(side.number, other, width, least);
    }

    private void decode(int v, boolean up) {
        int[] into = up ? decoded : decodedDown;
        double[] value = values;
        int width = theta[v].length;
        System.arraycopy(theta[v], 0, value, 0, width);
        for (int e : core.incident[v]) {
            int u = core.other(e, v);
            if (u < v == up) {
                boolean first = core.edgeA[e] == v;
                double[] m = first ? sideB[e].costs : sideA[e].costs;
                double[] to = first ? messageA[e] : messageB[e];
                int row = into[u] * width;
                for (int k = 0; k < width; k++) {
                    value[k] += m[row + k] - to[k];
                }
            }
        }
        int least = 0;
        for (int k = 1; k < width; k++) {
            if (value[k] < value[least]) {
                least = k;
            }
        }
        if (up && least != into[v]) {
            changedAt[v] = sweeps;
        }
        into[v] = least;
    }

    /** The variables whose decoded value changed lately: the prices leave them open. */
    int[] lively() {
        return IntStream.range(0, core.size)
                .filter(v -> changedAt[v] > sweeps - LIVELY)
                .toArray();
    }

    /** The bound after a sweep down, when no edge has a rest below 0: each was collected by its lower end last. */
    private double bound() {
        double sum = core.constant;
        for (int r = 0; r < core.rows; r++) {
            sum -= price[r] * core.limit[r];
        }
        for (double[] row : theta) {
            double least = Double.POSITIVE_INFINITY;
            for (double value : row) {
                least = Math.min(least, value);
            }
            sum += least;
        }
        return sum;
    }

    /**
     * Notes the bound of the latest sweep and moves the prices towards the excess of the decoded choices.
     *
     * @param bound of the latest sweep
     * @param ceiling what the bound can reach at most: the cost of the best choice, infinite if there is none
     */
    void step(double bound, double ceiling) {
        steps.step(bound, ceiling);
    }

    /** Whether further sweeps gain next to nothing. */
    boolean settled() {
        return steps.settled();
    }

    /** How many sweeps were made. */
    int sweeps() {
        return sweeps;
    }

    /** Keeps prices and messages if their bound is the best; returns by how much it is better. */
    double keep(double bound) {
        if (!(bound > best)) {
            return 0;
        }
        double gain = bound - best;
        best = bound;
        save();
        return gain;
    }

    /** Keeps prices and messages of the best bound: at prices that moved on, the messages have moved on too. */
    private void save() {
        System.arraycopy(price, 0, bestPrice, 0, price.length);
        copy(theta, bestTheta);
        copy(messageA, bestMessageA);
        copy(messageB, bestMessageB);
        saved = true;
    }

    /** Goes back to the prices and messages of the best bound. */
    void restore() {
        if (!saved) {
            return;
        }
        System.arraycopy(bestPrice, 0, price, 0, price.length);
        copy(bestTheta, theta);
        copy(bestMessageA, messageA);
        copy(bestMessageB, messageB);
    }

    private static void copy(double[][] from, double[][] to) {
        for (int i = 0; i < from.length; i++) {
            System.arraycopy(from[i], 0, to[i], 0, from[i].length);
        }
    }

    private static double[][] zeros(double[][] shape) {
        return Arrays.stream(shape).map(row -> new double[row.length]).toArray(double[][]::new);
    }

    /** Takes new prices. */
    void moveTo(double[] next) {
        double[] change = new double[core.rows + 1];
        for (int r = 0; r < core.rows; r++) {
            change[r + 1] = change[r] + next[r] - price[r];
            price[r] = next[r];
        }
        for (int v = 0; v < core.size; v++) {
            core.addPrices(change, v, theta[v]);
        }
    }
}
