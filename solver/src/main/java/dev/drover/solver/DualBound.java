package dev.drover.solver;

import java.util.Arrays;

/**
 * Lower bound by message passing, with a price for each usage row that is raised while it helps.
 *
 * <pre>
 *   bound = constant - sum_r price[r] * limit[r] + sum_v min theta_v + sum_e min (edge_e - message_a - message_b)
 *
 *   theta_v = unary_v + prices of v's usage + all messages to v
 * </pre>
 *
 * <p>Any messages and any prices not below 0 give a valid bound. A sweep collects into each variable the min-marginals
 * of its edges and gives them on in the direction of the sweep, which never lowers the bound (sequential reweighted
 * message passing, Kolmogorov 2015). After each sweep the prices follow the excess of a decoded choice (deflected
 * subgradient). Forbidden pairs count as a large finite cost, which can only lower the bound.
 */
final class DualBound {
    private final Core core;
    private final double[][] theta;
    private final double[][] messageA;
    private final double[][] messageB;
    private final double[][] edge;
    private final double[][] edgeTransposed;
    private final int[] forward;
    private final int[] backward;

    /** Price of one unit of usage of each row. */
    final double[] price;

    private final double[] direction;
    private final double[] bestPrice;
    private double best = Double.NEGATIVE_INFINITY;
    private double agility = 1;
    private int stale;

    /** The choice decoded by the latest forward sweep. */
    final int[] decoded;

    DualBound(Core core) {
        this.core = core;
        double cap = 1;
        for (double[] row : core.unary) {
            cap += largestFinite(row);
        }
        for (double[] m : core.edgeCost) {
            cap += largestFinite(m);
        }
        cap = Math.min(cap, 1e15);
        theta = new double[core.size][];
        forward = new int[core.size];
        backward = new int[core.size];
        for (int v = 0; v < core.size; v++) {
            theta[v] = capped(core.unary[v], cap);
        }
        messageA = new double[core.edgeCount][];
        messageB = new double[core.edgeCount][];
        edge = new double[core.edgeCount][];
        edgeTransposed = new double[core.edgeCount][];
        for (int e = 0; e < core.edgeCount; e++) {
            int a = core.edgeA[e];
            int b = core.edgeB[e];
            messageA[e] = new double[core.domain[a]];
            messageB[e] = new double[core.domain[b]];
            edge[e] = capped(core.edgeCost[e], cap);
            edgeTransposed[e] = capped(core.edgeCostTransposed[e], cap);
            forward[Math.min(a, b)]++;
            backward[Math.max(a, b)]++;
        }
        price = new double[core.rows];
        direction = new double[core.rows];
        bestPrice = new double[core.rows];
        decoded = new int[core.size];
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

    private static double[] capped(double[] row, double cap) {
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

    double[][] theta() {
        return theta;
    }

    double[] residual(int e) {
        int a = core.edgeA[e];
        int b = core.edgeB[e];
        double[] rest = edge[e].clone();
        for (int i = 0; i < core.domain[a]; i++) {
            for (int j = 0; j < core.domain[b]; j++) {
                rest[i * core.domain[b] + j] -= messageA[e][i] + messageB[e][j];
            }
        }
        return rest;
    }

    /** One sweep up and one down; returns the bound after it. */
    double sweep() {
        for (int v = 0; v < core.size; v++) {
            visit(v, true);
        }
        for (int v = core.size - 1; v >= 0; v--) {
            visit(v, false);
        }
        double bound = bound();
        if (bound > best) {
            stale = bound - best > 1e-5 * Math.abs(best) ? 0 : stale + 1;
            best = bound;
            System.arraycopy(price, 0, bestPrice, 0, price.length);
        } else {
            stale++;
        }
        return bound;
    }

    private void visit(int v, boolean up) {
        double[] mine = theta[v];
        int width = mine.length;
        for (int e : core.incident[v]) {
            boolean first = core.edgeA[e] == v;
            double[] m = first ? edge[e] : edgeTransposed[e];
            double[] to = first ? messageA[e] : messageB[e];
            double[] other = first ? messageB[e] : messageA[e];
            int i = 0;
            for (int k = 0; k < width; k++) {
                double least = Double.POSITIVE_INFINITY;
                for (int o = 0; o < other.length; o++) {
                    double value = m[i++] - other[o];
                    if (value < least) {
                        least = value;
                    }
                }
                mine[k] += least - to[k];
                to[k] = least;
            }
        }
        if (up) {
            decode(v);
        }
        int ahead = up ? forward[v] : backward[v];
        if (ahead == 0) {
            return;
        }
        double weight = 1.0 / Math.max(forward[v], backward[v]);
        double least = Double.POSITIVE_INFINITY;
        for (double value : mine) {
            least = Math.min(least, value);
        }
        for (int e : core.incident[v]) {
            if ((core.other(e, v) > v) == up) {
                double[] to = core.edgeA[e] == v ? messageA[e] : messageB[e];
                for (int k = 0; k < width; k++) {
                    to[k] -= weight * (mine[k] - least);
                }
            }
        }
        double rest = 1 - weight * ahead;
        for (int k = 0; k < width; k++) {
            mine[k] = least + rest * (mine[k] - least);
        }
    }

    private void decode(int v) {
        double[] value = theta[v].clone();
        for (int e : core.incident[v]) {
            int u = core.other(e, v);
            if (u < v) {
                boolean first = core.edgeA[e] == v;
                double[] m = first ? edgeTransposed[e] : edge[e];
                double[] to = first ? messageA[e] : messageB[e];
                int row = decoded[u] * value.length;
                for (int k = 0; k < value.length; k++) {
                    value[k] += m[row + k] - to[k];
                }
            }
        }
        int least = 0;
        for (int k = 1; k < value.length; k++) {
            if (value[k] < value[least]) {
                least = k;
            }
        }
        decoded[v] = least;
    }

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
        for (int e = 0; e < core.edgeCount; e++) {
            double[] m = edge[e];
            double[] b = messageB[e];
            double least = Double.POSITIVE_INFINITY;
            int i = 0;
            for (double a : messageA[e]) {
                for (double other : b) {
                    double value = m[i++] - a - other;
                    if (value < least) {
                        least = value;
                    }
                }
            }
            sum += least;
        }
        return sum;
    }

    /**
     * Moves the prices towards the excess of the decoded choice.
     *
     * @param bound of the latest sweep
     * @param target what the bound may reach at most: the cost of the best choice or a guess
     */
    void step(double bound, double target) {
        if (core.rows == 0) {
            return;
        }
        long[] usage = core.usage(decoded);
        double norm = 0;
        for (int r = 0; r < core.rows; r++) {
            double excess = usage[r] - core.limit[r];
            if (price[r] == 0 && excess < 0) {
                excess = 0;
            }
            direction[r] = 0.7 * direction[r] + 0.3 * excess;
            if (price[r] == 0 && direction[r] < 0) {
                direction[r] = 0;
            }
            norm += direction[r] * direction[r];
        }
        if (norm == 0) {
            return;
        }
        if (stale > 12) {
            agility *= 0.7;
            stale = 0;
        }
        double length = agility * Math.max(target - bound, 1e-4 * Math.abs(bound)) / norm;
        double[] change = new double[core.rows + 1];
        for (int r = 0; r < core.rows; r++) {
            double now = Math.max(0, price[r] + length * direction[r]);
            change[r + 1] = change[r] + now - price[r];
            price[r] = now;
        }
        for (int v = 0; v < core.size; v++) {
            core.addPrices(change, v, theta[v]);
        }
    }

    /** Whether prices hardly move any more. */
    boolean settled() {
        return agility < 1e-3;
    }

    void resetDirection() {
        Arrays.fill(direction, 0);
        agility = 1;
        stale = 0;
    }
}
