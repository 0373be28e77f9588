package dev.drover.solver;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;

/**
 * The problem after reduction: few variables with finite values, each standing for a group of nodes.
 *
 * <pre>
 *   minimize    constant + sum_v unary[v][x_v] + sum_e edgeCost[e][x_a * domain[b] + x_b]
 *   subject to  sum_v usage_v(x_v, r) &lt;= limit[r]    for each row r
 * </pre>
 *
 * <p>A row is a time (or many that it dominates). The usage of a variable is given by segments: in the rows
 * {@code segStart[v][s] .. segEnd[v][s] - 1} value k adds {@code segUsage[v][s][k]}, at least one of them 0.
 * Costs are doubles, exact up to 2^53; forbidden pairs are infinite.
 * No cost is negative, so that a choice that costs less than that is summed exactly, whatever others cost.
 */
final class Core {
    final double constant;
    final int size;
    final int[] domain;
    final double[][] unary;
    final int edgeCount;
    final int[] edgeA;
    final int[] edgeB;
    final double[][] edgeCost;
    /** The transposed matrices: {@code domain[b] x domain[a]}. */
    final double[][] edgeCostTransposed;
    /** Edges of each variable. */
    final int[][] incident;

    final int rows;
    final long[] limit;
    /** Time of each row, for messages. */
    final TimeSpan[] rowTime;

    final int[][] segStart;
    final int[][] segEnd;
    final long[][][] segUsage;

    private final Expansion expansion;

    /** All that a sum of costs and prices has. */
    private final long terms;

    Core(
            double constant,
            double[][] unary,
            int[] edgeA,
            int[] edgeB,
            double[][] edgeCost,
            UsageRows usage,
            Expansion expansion) {
        this.constant = constant;
        this.size = unary.length;
        this.unary = unary;
        this.domain = new int[size];
        for (int v = 0; v < size; v++) {
            domain[v] = unary[v].length;
        }
        this.edgeCount = edgeA.length;
        this.edgeA = edgeA;
        this.edgeB = edgeB;
        this.edgeCost = edgeCost;
        this.edgeCostTransposed = new double[edgeCount][];
        IdentityHashMap<double[], double[]> transposed = new IdentityHashMap<>();
        for (int e = 0; e < edgeCount; e++) {
            double[] known = transposed.get(edgeCost[e]);
            if (known == null) {
                known = transposed(edgeCost[e], domain[edgeA[e]], domain[edgeB[e]]);
                transposed.put(edgeCost[e], known);
            }
            edgeCostTransposed[e] = known;
        }
        this.incident = new int[size][];
        int[] degree = new int[size];
        for (int e = 0; e < edgeCount; e++) {
            degree[edgeA[e]]++;
            degree[edgeB[e]]++;
        }
        for (int v = 0; v < size; v++) {
            incident[v] = new int[degree[v]];
        }
        for (int e = edgeCount - 1; e >= 0; e--) {
            incident[edgeA[e]][--degree[edgeA[e]]] = e;
            incident[edgeB[e]][--degree[edgeB[e]]] = e;
        }
        this.rows = usage.limit.length;
        this.limit = usage.limit;
        this.rowTime = usage.rowTime;
        this.segStart = usage.segStart;
        this.segEnd = usage.segEnd;
        this.segUsage = usage.segUsage;
        this.expansion = expansion;
        this.terms = 2L
                + size
                + edgeCount
                + 2L * rows
                + Arrays.stream(segStart).mapToInt(s -> s.length).sum();
    }

    static double[] transposed(double[] matrix, int rows, int columns) {
        double[] out = new double[rows * columns];
        for (int i = 0; i < rows; i++) {
            for (int j = 0; j < columns; j++) {
                out[j * rows + i] = matrix[i * columns + j];
            }
        }
        return out;
    }

    /** Returns the same problem with fewer values; the kept ones move up. */
    Core restrict(boolean[][] keep) {
        int[][] kept = new int[size][];
        for (int v = 0; v < size; v++) {
            boolean[] mine = keep[v];
            kept[v] = java.util.stream.IntStream.range(0, domain[v])
                    .filter(k -> mine[k])
                    .toArray();
        }
        double[][] newUnary = new double[size][];
        long[][][] newUsage = new long[size][][];
        long[] least = new long[rows + 1];
        for (int v = 0; v < size; v++) {
            newUnary[v] = new double[kept[v].length];
            for (int k = 0; k < kept[v].length; k++) {
                newUnary[v][k] = unary[v][kept[v][k]];
            }
            newUsage[v] = new long[segStart[v].length][];
            for (int s = 0; s < segStart[v].length; s++) {
                long[] u = new long[kept[v].length];
                long low = Long.MAX_VALUE;
                for (int k = 0; k < u.length; k++) {
                    u[k] = segUsage[v][s][kept[v][k]];
                    low = Math.min(low, u[k]);
                }
                for (int k = 0; k < u.length; k++) {
                    u[k] -= low;
                }
                least[segStart[v][s]] += low;
                least[segEnd[v][s]] -= low;
                newUsage[v][s] = u;
            }
        }
        long[] newLimit = new long[rows];
        long sum = 0;
        for (int r = 0; r < rows; r++) {
            sum += least[r];
            newLimit[r] = limit[r] - sum;
        }
        double[][] newEdges = new double[edgeCount][];
        for (int e = 0; e < edgeCount; e++) {
            int[] ka = kept[edgeA[e]];
            int[] kb = kept[edgeB[e]];
            newEdges[e] = new double[ka.length * kb.length];
            for (int i = 0; i < ka.length; i++) {
                for (int j = 0; j < kb.length; j++) {
                    newEdges[e][i * kb.length + j] = edgeCost[e][ka[i] * domain[edgeB[e]] + kb[j]];
                }
            }
        }
        return new Core(
                constant,
                newUnary,
                edgeA,
                edgeB,
                newEdges,
                new UsageRows(newLimit, rowTime, segStart, segEnd, newUsage, -1),
                x -> {
                    int[] before = new int[size];
                    for (int v = 0; v < size; v++) {
                        before[v] = kept[v][x[v]];
                    }
                    return expansion.strategies(before);
                });
    }

    /** What doubles can be wrong by that add up costs, and prices of usage, of this size: a sum has no more terms than the core. */
    double rounding(double magnitude) {
        return 1e-6 + magnitude * Math.min(1e-12, terms * 0x1p-52);
    }

    int other(int edge, int v) {
        return edgeA[edge] == v ? edgeB[edge] : edgeA[edge];
    }

    /** The matrix of an edge with the values of {@code v} as columns. */
    double[] columnsOf(int edge, int v) {
        return edgeB[edge] == v ? edgeCost[edge] : edgeCostTransposed[edge];
    }

    double cost(int[] x) {
        double sum = constant;
        for (int v = 0; v < size; v++) {
            sum += unary[v][x[v]];
        }
        for (int e = 0; e < edgeCount; e++) {
            sum += edgeCost[e][x[edgeA[e]] * domain[edgeB[e]] + x[edgeB[e]]];
        }
        return sum;
    }

    /** Usage of each row. */
    long[] usage(int[] x) {
        long[] change = new long[rows + 1];
        for (int v = 0; v < size; v++) {
            for (int s = 0; s < segStart[v].length; s++) {
                long u = segUsage[v][s][x[v]];
                change[segStart[v][s]] += u;
                change[segEnd[v][s]] -= u;
            }
        }
        long[] usage = new long[rows];
        long sum = 0;
        for (int r = 0; r < rows; r++) {
            sum += change[r];
            usage[r] = sum;
        }
        return usage;
    }

    /** The row whose usage is most above its limit, or least below it; -1 without rows. */
    int fullest(long[] usage) {
        int fullest = -1;
        for (int r = 0; r < rows; r++) {
            if (fullest < 0 || usage[r] - limit[r] > usage[fullest] - limit[fullest]) {
                fullest = r;
            }
        }
        return fullest;
    }

    boolean fits(int[] x) {
        long[] usage = usage(x);
        for (int r = 0; r < rows; r++) {
            if (usage[r] > limit[r]) {
                return false;
            }
        }
        return true;
    }

    /** Adds to {@code into[v][k]} the price of the usage of value k; {@code prefix[r]} is the sum of prices below r. */
    void addPrices(double[] prefix, int v, double[] into) {
        for (int s = 0; s < segStart[v].length; s++) {
            double price = prefix[segEnd[v][s]] - prefix[segStart[v][s]];
            if (price != 0) {
                long[] u = segUsage[v][s];
                for (int k = 0; k < u.length; k++) {
                    into[k] += price * u[k];
                }
            }
        }
    }

    /** The unary costs with the prices of usage. */
    double[][] priced(double[] price) {
        double[] prefix = new double[rows + 1];
        for (int r = 0; r < rows; r++) {
            prefix[r + 1] = prefix[r] + price[r];
        }
        double[][] theta = new double[size][];
        for (int v = 0; v < size; v++) {
            theta[v] = unary[v].clone();
            addPrices(prefix, v, theta[v]);
        }
        return theta;
    }

    /** The prices that this core's rows have in another one; 0 for a row that it has not. */
    double[] pricesOf(Core other, double[] price) {
        Map<TimeSpan, Double> priceByTime = new HashMap<>();
        for (int r = 0; r < other.rows; r++) {
            priceByTime.merge(other.rowTime[r], price[r], Double::sum);
        }
        double[] mine = new double[rows];
        for (int r = 0; r < rows; r++) {
            mine[r] = priceByTime.getOrDefault(rowTime[r], 0.0);
        }
        return mine;
    }

    /** What usage up to all limits is worth. */
    double atLimit(double[] price) {
        double sum = 0;
        for (int r = 0; r < rows; r++) {
            sum += price[r] * limit[r];
        }
        return sum;
    }

    /** The same core with some of the rows, in rising order; with its own values in place of the nodes' strategies. */
    Core onlyRows(int[] some) {
        int[] below = new int[rows + 1];
        long[] fewerLimits = new long[some.length];
        TimeSpan[] fewerTimes = new TimeSpan[some.length];
        for (int i = 0; i < some.length; i++) {
            below[some[i] + 1] = 1;
            fewerLimits[i] = limit[some[i]];
            fewerTimes[i] = rowTime[some[i]];
        }
        for (int r = 0; r < rows; r++) {
            below[r + 1] += below[r];
        }
        int[][] start = new int[size][];
        int[][] end = new int[size][];
        long[][][] usage = new long[size][][];
        for (int v = 0; v < size; v++) {
            int[] from = new int[segStart[v].length];
            int[] to = new int[from.length];
            long[][] mine = new long[from.length][];
            int count = 0;
            for (int s = 0; s < from.length; s++) {
                from[count] = below[segStart[v][s]];
                to[count] = below[segEnd[v][s]];
                mine[count] = segUsage[v][s];
                count += from[count] < to[count] ? 1 : 0;
            }
            start[v] = Arrays.copyOf(from, count);
            end[v] = Arrays.copyOf(to, count);
            usage[v] = Arrays.copyOf(mine, count);
        }
        return alone(new UsageRows(fewerLimits, fewerTimes, start, end, usage, -1));
    }

    /** The same core, with its own values in place of the nodes' strategies. */
    Core alone() {
        return alone(new UsageRows(limit, rowTime, segStart, segEnd, segUsage, -1));
    }

    private Core alone(UsageRows usageRows) {
        return new Core(constant, unary, edgeA, edgeB, edgeCost, usageRows, int[]::clone);
    }

    Expansion expansion() {
        return expansion;
    }

    /** Returns the strategies of the nodes for the values of the variables. */
    List<Integer> expand(int[] x) {
        int[] strategies = expansion.strategies(x);
        List<Integer> choices = new ArrayList<>(strategies.length);
        for (int strategy : strategies) {
            choices.add(strategy);
        }
        return Collections.unmodifiableList(choices);
    }
}
