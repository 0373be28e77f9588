package dev.drover.solver;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;

/**
 * Choose one strategy for each node so that the sum of all node and edge costs is minimal and at no time the usages of
 * the nodes that are alive then sum to more than a limit.
 *
 * <pre>
 *   minimize    sum_i  cost_i(x_i)  +  sum_(i,j)  edgeCost_ij(x_i, x_j)
 *   subject to  sum over i with start_i &lt;= t &lt; end_i of  usage_i(x_i)  &lt;= usageLimit     for each time t
 * </pre>
 *
 * <p>This is the problem of the ASPLOS/EuroSys 2025 contest on intra-operator parallelism. Costs, usages and times are
 * integers of any unit (the callers say which); a cost of {@link #FORBIDDEN} or more forbids the choice. Several edges may
 * join the same two nodes, their costs add up. Equal cost matrices are stored once. Immutable.
 */
public final class StrategyProblem {
    /** The least cost that forbids a choice: 10^18. */
    public static final long FORBIDDEN = 1_000_000_000_000_000_000L;

    /** The usage limit of a problem without one. */
    public static final long UNLIMITED = Long.MAX_VALUE;

    /** Sums of usages or of least costs stay below this: 2^62. */
    static final double LARGEST_SUM = 0x1p62;

    private final String name;
    private final long usageLimit;
    private final long[] starts;
    private final long[] ends;
    private final long[][] costs;
    private final long[][] usages;
    private final int[] edgeFrom;
    private final int[] edgeTo;

    /** By edge, the number of its matrix. */
    private final int[] edgeMatrix;

    private final long[][] matrices;

    private StrategyProblem(Builder builder) {
        name = builder.name;
        usageLimit = builder.usageLimit;
        int n = builder.costs.size();
        starts = new long[n];
        ends = new long[n];
        for (int i = 0; i < n; i++) {
            starts[i] = builder.intervals.get(i)[0];
            ends[i] = builder.intervals.get(i)[1];
        }
        costs = builder.costs.toArray(new long[0][]);
        usages = builder.usages.toArray(new long[0][]);
        int m = builder.edgeCosts.size();
        edgeFrom = new int[m];
        edgeTo = new int[m];
        for (int e = 0; e < m; e++) {
            edgeFrom[e] = builder.edgeEnds.get(e)[0];
            edgeTo[e] = builder.edgeEnds.get(e)[1];
        }
        edgeMatrix = new int[m];
        matrices = numbered(builder.edgeCosts, edgeMatrix);
    }

    /** Returns the different arrays, in order of their first use. */
    private static long[][] numbered(List<long[]> rows, int[] numbers) {
        IdentityHashMap<long[], Integer> numberByRow = new IdentityHashMap<>();
        List<long[]> different = new ArrayList<>();
        for (int e = 0; e < numbers.length; e++) {
            Integer known = numberByRow.get(rows.get(e));
            if (known == null) {
                known = different.size();
                numberByRow.put(rows.get(e), known);
                different.add(rows.get(e));
            }
            numbers[e] = known;
        }
        return different.toArray(new long[0][]);
    }

    private StrategyProblem(StrategyProblem other, long usageLimit, long[][] costs, long[][] matrices) {
        this.name = other.name;
        this.usageLimit = usageLimit;
        this.starts = other.starts;
        this.ends = other.ends;
        this.costs = costs;
        this.usages = other.usages;
        this.edgeFrom = other.edgeFrom;
        this.edgeTo = other.edgeTo;
        this.edgeMatrix = other.edgeMatrix;
        this.matrices = matrices;
    }

    /**
     * Returns the same problem with another usage limit; nothing is copied.
     *
     * @param limit in the unit of the usages, not negative, {@link #UNLIMITED} for none
     */
    public StrategyProblem withUsageLimit(long limit) {
        requireLimit(limit, name);
        return new StrategyProblem(this, limit, costs, matrices);
    }

    /** Returns the same problem with costs of 0, but for what is forbidden. */
    StrategyProblem withoutCosts() {
        return new StrategyProblem(this, usageLimit, withoutCosts(costs), withoutCosts(matrices));
    }

    private static long[][] withoutCosts(long[][] rows) {
        long[][] without = new long[rows.length][];
        for (int i = 0; i < rows.length; i++) {
            without[i] = rows[i].clone();
            for (int k = 0; k < without[i].length; k++) {
                without[i][k] = without[i][k] < FORBIDDEN ? 0 : FORBIDDEN;
            }
        }
        return without;
    }

    /** Returns the sum over all nodes of the largest usage that is not above the limit; of nodes that are alive. */
    double largestUsage() {
        double sum = 0;
        for (int node = 0; node < usages.length; node++) {
            long largest = 0;
            for (long usage : usages[node]) {
                largest = usage <= usageLimit ? Math.max(largest, usage) : largest;
            }
            sum += starts[node] < ends[node] ? largest : 0;
        }
        return sum;
    }

    private static void requireLimit(long limit, String name) {
        if (limit < 0) {
            throw new SolverInputException("The usage limit (" + limit + ") of problem (" + name
                    + ") must not be negative.\nMaybe leave it out for a problem without limit.");
        }
    }

    /**
     * Starts a problem.
     *
     * @param name printed in messages only
     * @return an empty builder without a usage limit
     */
    public static Builder builder(String name) {
        return new Builder(name);
    }

    /** Returns the name, for messages only. */
    public String name() {
        return name;
    }

    /** Returns the greatest sum of usages allowed at any time, {@link #UNLIMITED} if there is none. */
    public long usageLimit() {
        return usageLimit;
    }

    /** Returns the number of nodes. */
    public int nodeCount() {
        return costs.length;
    }

    /** Returns the number of edges, parallel ones counted one by one. */
    public int edgeCount() {
        return edgeFrom.length;
    }

    /** Returns the number of strategies of a node, at least 1. */
    public int strategyCount(int node) {
        return costs[node].length;
    }

    /** Returns the cost of a strategy; {@link #FORBIDDEN} or more forbids it. */
    public long cost(int node, int strategy) {
        return costs[node][strategy];
    }

    /** Returns what a strategy adds to the usage while the node is alive. */
    public long usage(int node, int strategy) {
        return usages[node][strategy];
    }

    /** Returns the first time at which the node is alive. */
    public long intervalStart(int node) {
        return starts[node];
    }

    /** Returns the first time at which the node is no longer alive; not above the start: never alive. */
    public long intervalEnd(int node) {
        return ends[node];
    }

    /** Returns the first node of an edge, whose strategies are the rows of the matrix. */
    public int edgeFrom(int edge) {
        return edgeFrom[edge];
    }

    /** Returns the second node of an edge, whose strategies are the columns of the matrix. */
    public int edgeTo(int edge) {
        return edgeTo[edge];
    }

    /** Returns the cost of an edge for a pair of strategies; {@link #FORBIDDEN} or more forbids the pair. */
    public long edgeCost(int edge, int fromStrategy, int toStrategy) {
        return matrices[edgeMatrix[edge]][fromStrategy * costs[edgeTo[edge]].length + toStrategy];
    }

    /** Returns the costs of all strategies of a node themselves; callers must not write. */
    long[] costs(int node) {
        return costs[node];
    }

    /** Returns the usages of all strategies of a node themselves; callers must not write. */
    long[] usages(int node) {
        return usages[node];
    }

    /** Returns the number of different matrices. */
    int matrixCount() {
        return matrices.length;
    }

    /** Returns a row-major matrix itself; callers must not write. */
    long[] matrix(int number) {
        return matrices[number];
    }

    /** Returns the number of an edge's matrix, the same for equal edges. */
    int matrixNumber(int edge) {
        return edgeMatrix[edge];
    }

    /** Collects nodes and edges; every argument is checked when it comes. Not for several threads. */
    public static final class Builder {
        private final String name;
        private final List<long[]> intervals = new ArrayList<>();
        private final List<long[]> costs = new ArrayList<>();
        private final List<long[]> usages = new ArrayList<>();
        private final List<int[]> edgeEnds = new ArrayList<>();
        private final List<long[]> edgeCosts = new ArrayList<>();
        private final Map<Row, long[]> interned = new HashMap<>();
        private long usageLimit = UNLIMITED;

        private final boolean adopting;
        private final boolean notNegative;

        private Builder(String name) {
            this(name, false, false);
        }

        /**
         * With {@code adopting} the arrays given are kept themselves: equal ones are one array already and nobody writes to them. With
         * {@code notNegative} no cost and no usage is negative.
         */
        Builder(String name, boolean adopting, boolean notNegative) {
            this.name = name;
            this.adopting = adopting;
            this.notNegative = notNegative;
        }

        /**
         * Sets the limit of the usage at any time.
         *
         * @param limit in the unit of the usages, not negative
         * @return this
         */
        public Builder usageLimit(long limit) {
            requireLimit(limit, name);
            usageLimit = limit;
            return this;
        }

        /**
         * Adds a node.
         *
         * @param start first time at which it is alive, not negative
         * @param end first time at which it is no longer alive, not before {@code start}
         * @param strategyCosts one cost per strategy, not negative
         * @param strategyUsages one usage per strategy, not negative
         * @return the node's number, from 0
         */
        public int node(long start, long end, long[] strategyCosts, long[] strategyUsages) {
            int id = costs.size();
            if (start < 0 || end < start) {
                throw new SolverInputException("The interval (" + id
                        + ") must be [start, end) with 0 <= start <= end, not [" + start + ", " + end
                        + ").\nMaybe its ends are swapped; with equal ends a node needs no memory.");
            }
            if (strategyCosts.length == 0) {
                throw new SolverInputException("The strategy count (0) of node (" + id
                        + ") must be at least 1.\nMaybe the node has to be left out.");
            }
            if (strategyUsages.length != strategyCosts.length) {
                throw new SolverInputException("The usage count (" + strategyUsages.length + ") of node (" + id
                        + ") must equal its cost count (" + strategyCosts.length
                        + ").\nMaybe a strategy's usage is missing.");
            }
            requireNotNegative("cost", strategyCosts, "node", id);
            requireNotNegative("usage", strategyUsages, "node", id);
            intervals.add(new long[] {start, end});
            costs.add(intern(strategyCosts));
            usages.add(intern(strategyUsages));
            return id;
        }

        /**
         * Adds an edge; edges between the same two nodes add up.
         *
         * @param from node of the rows
         * @param to node of the columns, another one
         * @param matrix row-major costs, strategies of {@code from} times strategies of {@code to}, not negative
         * @return the edge's number, from 0
         */
        public int edge(int from, int to, long[] matrix) {
            int id = edgeEnds.size();
            for (int node : new int[] {from, to}) {
                if (node < 0 || node >= costs.size()) {
                    throw new SolverInputException("The node (" + node + ") of edge (" + id
                            + ") must be at least 0 and below the node count (" + costs.size()
                            + ").\nMaybe add the nodes before the edges.");
                }
            }
            if (from == to) {
                throw new SolverInputException("The nodes (" + from + ", " + to + ") of edge (" + id
                        + ") must be two different ones.\nMaybe add the diagonal to the node's costs.");
            }
            long expected = (long) costs.get(from).length * costs.get(to).length;
            if (matrix.length != expected) {
                throw new SolverInputException("The cost count (" + matrix.length + ") of edge (" + id + ") must be "
                        + costs.get(from).length + " x " + costs.get(to).length + " = " + expected
                        + ", the strategies of its nodes (" + from + ", " + to
                        + ").\nMaybe the nodes are in the wrong order.");
            }
            requireNotNegative("cost", matrix, "edge", id);
            edgeEnds.add(new int[] {from, to});
            edgeCosts.add(intern(matrix));
            return id;
        }

        /** Returns the number of nodes so far. */
        public int nodeCount() {
            return costs.size();
        }

        /** Returns the problem; the builder can go on and build another. */
        public StrategyProblem build() {
            return new StrategyProblem(this);
        }

        private long[] intern(long[] row) {
            if (adopting) {
                return row;
            }
            long[] found = interned.get(new Row(row));
            if (found == null) {
                found = row.clone();
                interned.put(new Row(found), found);
            }
            return found;
        }

        private void requireNotNegative(String what, long[] row, String thing, int id) {
            if (notNegative) {
                return;
            }
            for (long value : row) {
                if (value < 0) {
                    throw new SolverInputException("The " + what + " (" + value + ") of " + thing + " (" + id
                            + ") must not be negative.\nMaybe add a constant to all " + what + "s of the " + thing
                            + ", and for usages to the limit.");
                }
            }
        }
    }

    /** An array as a key of a map. */
    static final class Row {
        private final long[] values;
        private final int hash;

        Row(long[] values) {
            this.values = values;
            this.hash = Arrays.hashCode(values);
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Row row && hash == row.hash && Arrays.equals(values, row.values);
        }

        @Override
        public int hashCode() {
            return hash;
        }
    }
}
