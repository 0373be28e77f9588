package dev.drover.solver;

import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.PriorityQueue;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/**
 * Exact minimization over a set of free variables by eliminating one after the other, the rest being fixed.
 *
 * <pre>
 *   bucket of v:   message(scope) = min over x_v of  unary(x_v) + edges(x_v, scope) + messages of earlier buckets
 *
 *   scope = neighbours of v when its turn comes; the table has  product of their domains x domain of v  entries
 * </pre>
 *
 * <p>The order is greedy by table size. Where the smallest table would pass the limit a variable of high degree is
 * fixed at its present value instead. The order is made once; then the minimization runs for any costs and any values
 * of the fixed variables. Source: bucket elimination, Dechter 1999.
 */
final class Elimination {
    private final Core core;
    /** Free variables in the order of elimination. */
    final int[] order;

    private final boolean[] free;
    private final int[][] scope;
    /** For each bucket the edges to its scope, and the position of the other end in the scope. */
    private final int[][] scopeEdges;

    private final int[][] scopeEdgeAt;
    private final int[][] fixedEdges;
    private final int[][] children;
    /** Stride of each scope dimension of the bucket in each child's message. */
    private final int[][][] childStrides;

    private final double[][] message;
    private final double[][] own;
    /** What each value costs with the fixed variables. */
    private final double[][] atFixed;

    private double[] joint = new double[64];
    private final double[] values;

    private Elimination(Core core, Order plan) {
        this.core = core;
        this.order = plan.order;
        this.scope = plan.scope;
        int n = order.length;
        this.free = new boolean[core.size];
        int[] position = new int[core.size];
        int widest = 1;
        for (int b = 0; b < n; b++) {
            free[order[b]] = true;
            position[order[b]] = b;
            widest = Math.max(widest, core.domain[order[b]]);
        }
        values = new double[widest];
        scopeEdges = new int[n][];
        scopeEdgeAt = new int[n][];
        fixedEdges = new int[n][];
        children = new int[n][];
        childStrides = new int[n][][];
        message = new double[n][];
        own = new double[n][];
        atFixed = new double[n][];
        int[] childCount = new int[n];
        for (int b = 0; b < n; b++) {
            sortLatestFirst(scope[b], position);
            if (scope[b].length > 0) {
                childCount[position[scope[b][scope[b].length - 1]]]++;
            }
        }
        for (int b = 0; b < n; b++) {
            children[b] = new int[childCount[b]];
            childStrides[b] = new int[childCount[b]][];
        }
        for (int b = 0; b < n; b++) {
            int v = order[b];
            int size = 1;
            for (int u : scope[b]) {
                size *= core.domain[u];
            }
            message[b] = new double[size];
            own[b] = new double[core.domain[v]];
            atFixed[b] = new double[core.domain[v]];
            if (scope[b].length > 0) {
                int parent = position[scope[b][scope[b].length - 1]];
                children[parent][--childCount[parent]] = b;
            }
            int[] inside = new int[core.incident[v].length];
            int[] at = new int[inside.length];
            int[] outside = new int[inside.length];
            int insideCount = 0;
            int outsideCount = 0;
            for (int e : core.incident[v]) {
                int u = core.other(e, v);
                if (!free[u]) {
                    outside[outsideCount++] = e;
                } else if (position[u] > b) {
                    at[insideCount] = indexOf(scope[b], u);
                    inside[insideCount++] = e;
                }
            }
            scopeEdges[b] = Arrays.copyOf(inside, insideCount);
            scopeEdgeAt[b] = Arrays.copyOf(at, insideCount);
            fixedEdges[b] = Arrays.copyOf(outside, outsideCount);
        }
        for (int b = 0; b < n; b++) {
            for (int c = 0; c < children[b].length; c++) {
                int[] childScope = scope[children[b][c]];
                int[] strides = new int[scope[b].length];
                int stride = core.domain[order[b]];
                for (int d = childScope.length - 2; d >= 0; d--) {
                    strides[indexOf(scope[b], childScope[d])] = stride;
                    stride *= core.domain[childScope[d]];
                }
                childStrides[b][c] = strides;
            }
        }
    }

    private static void sortLatestFirst(int[] vars, int[] position) {
        for (int i = 1; i < vars.length; i++) {
            int v = vars[i];
            int j = i - 1;
            while (j >= 0 && position[vars[j]] < position[v]) {
                vars[j + 1] = vars[j];
                j--;
            }
            vars[j + 1] = v;
        }
    }

    private static int indexOf(int[] vars, int v) {
        for (int i = 0; i < vars.length; i++) {
            if (vars[i] == v) {
                return i;
            }
        }
        throw new AssertionError("variable " + v + " is not in the scope");
    }

    /**
     * Chooses the order.
     *
     * @param core the problem
     * @param candidates variables to free
     * @param maxEntries limit of a table
     * @param maxTotalEntries limit of all tables together
     * @param random breaks ties
     */
    static Elimination plan(
            Core core, int[] candidates, int maxEntries, long maxTotalEntries, SplittableRandom random) {
        return plan(core, candidates, maxEntries, maxTotalEntries, random, Budget.endless());
    }

    /** The same; throws {@link Budget.Late} if the time ends before. */
    static Elimination plan(
            Core core, int[] candidates, int maxEntries, long maxTotalEntries, SplittableRandom random, Budget budget) {
        return new Elimination(
                core, new Order(core, candidates, maxEntries, maxTotalEntries, random, budget, false, false));
    }

    /** The same for all variables; null if a table would be too large. */
    static @Nullable Elimination whole(
            Core core, int maxEntries, long maxTotalEntries, SplittableRandom random, Budget budget) {
        int[] all = new int[core.size];
        Arrays.setAll(all, v -> v);
        Order plan = new Order(core, all, maxEntries, maxTotalEntries, random, budget, false, true);
        return plan.order.length == all.length ? new Elimination(core, plan) : null;
    }

    /**
     * Eliminates in the order given; null if a table would be too large.
     *
     * @param core the problem
     * @param order variables to free, the first to eliminate first
     * @param maxEntries limit of a table
     * @param maxTotalEntries limit of all tables together
     * @param budget ends it by {@link Budget.Late}
     */
    static @Nullable Elimination inOrder(Core core, int[] order, int maxEntries, long maxTotalEntries, Budget budget) {
        Order plan = new Order(core, order, maxEntries, maxTotalEntries, new SplittableRandom(0), budget, true, true);
        return plan.order.length == order.length ? new Elimination(core, plan) : null;
    }

    /**
     * The same tables in another order: that of a walk through the tree of buckets, so that few tables wait at a time for their turn. Read
     * backwards, each bucket is followed by its small subtrees, the largest last.
     */
    int[] depthFirst() {
        int n = order.length;
        int[] position = new int[core.size];
        for (int b = 0; b < n; b++) {
            position[order[b]] = b;
        }
        int[] weight = new int[n];
        int[] parent = new int[n];
        for (int b = 0; b < n; b++) {
            weight[b]++;
            parent[b] = scope[b].length == 0 ? -1 : position[scope[b][scope[b].length - 1]];
            if (parent[b] >= 0) {
                weight[parent[b]] += weight[b];
            }
        }
        ArrayDeque<Integer> waiting = new ArrayDeque<>();
        for (int b = 0; b < n; b++) {
            if (parent[b] < 0) {
                waiting.push(b);
            }
        }
        int[] walk = new int[n];
        for (int at = n - 1; at >= 0; at--) {
            int b = waiting.pop();
            walk[at] = order[b];
            Arrays.stream(children[b])
                    .boxed()
                    .sorted((c, d) ->
                            weight[c] != weight[d] ? Integer.compare(weight[d], weight[c]) : Integer.compare(c, d))
                    .forEach(waiting::push);
        }
        return walk;
    }

    /** The variables of which the bucket's table depends. */
    int[] scope(int bucket) {
        return scope[bucket];
    }

    /** Entries of all tables, the work of one minimization; that of making the order is about as much. */
    long entries() {
        long sum = 16L * order.length;
        for (int b = 0; b < order.length; b++) {
            sum += (long) message[b].length * core.domain[order[b]];
        }
        return sum;
    }

    /** Whether no candidate had to be fixed. */
    boolean frees(int count) {
        return order.length == count;
    }

    /**
     * Minimizes.
     *
     * @param theta unary costs per variable, prices included; only those of free variables are read
     * @param x values of the fixed variables; the free ones are set to a minimizer
     * @return the minimum of all costs that touch a free variable
     */
    double minimize(double[][] theta, int[] x) {
        fix(x);
        return minimizeAgain(theta, x);
    }

    /** The same for other unary costs, the fixed variables being as they were. */
    double minimizeAgain(double[][] theta, int[] x) {
        double total = collectAgain(theta);
        for (int b = order.length - 1; b >= 0; b--) {
            valuesOf(b, x);
            int best = 0;
            for (int k = 1; k < core.domain[order[b]]; k++) {
                if (values[k] < values[best]) {
                    best = k;
                }
            }
            x[order[b]] = best;
        }
        return total;
    }

    /** Computes all messages and returns the minimum without decoding it. */
    double collect(double[][] theta, int[] x) {
        fix(x);
        return collectAgain(theta);
    }

    /** Sums up the costs of the edges to fixed variables: of a hub there are hundreds. */
    void fix(int[] x) {
        for (int b = 0; b < order.length; b++) {
            int v = order[b];
            int width = core.domain[v];
            double[] sum = atFixed[b];
            Arrays.fill(sum, 0);
            for (int e : fixedEdges[b]) {
                double[] m = core.columnsOf(e, v);
                int row = x[core.other(e, v)] * width;
                for (int k = 0; k < width; k++) {
                    sum[k] += m[row + k];
                }
            }
        }
    }

    private double collectAgain(double[][] theta) {
        double total = 0;
        for (int b = 0; b < order.length; b++) {
            int width = core.domain[order[b]];
            double[] mine = own[b];
            double[] unary = theta[order[b]];
            for (int k = 0; k < width; k++) {
                mine[k] = unary[k] + atFixed[b][k];
            }
            int outer = message[b].length;
            double[] table = joint(b);
            double[] out = message[b];
            for (int o = 0, i = 0; o < outer; o++) {
                double least = table[i++];
                for (int k = 1; k < width; k++, i++) {
                    double value = table[i];
                    if (value < least) {
                        least = value;
                    }
                }
                out[o] = least;
            }
            if (scope[b].length == 0) {
                total += out[0];
            }
        }
        return total;
    }

    /** All costs of the bucket for each choice of its scope and each value of its variable, which comes last. */
    private double[] joint(int b) {
        int v = order[b];
        int width = core.domain[v];
        int outer = message[b].length;
        int size = outer * width;
        if (joint.length < size) {
            joint = new double[Math.max(size, 2 * joint.length)];
        }
        for (int o = 0; o < size; o += width) {
            System.arraycopy(own[b], 0, joint, o, width);
        }
        addEdges(b, v, width, size, joint);
        for (int c = 0; c < children[b].length; c++) {
            walk(b, c, message[children[b][c]], joint, true);
        }
        return joint;
    }

    /**
     * What each value costs more than the best one of its variable, all others being chosen for it. All variables must be free, and the
     * messages must be those of {@link #collect}.
     *
     * <pre>
     *   outside(bucket) = min over the rest of the parent's table of  its joint costs + outside(parent) - message(bucket)
     * </pre>
     */
    double[][] surplus() {
        double[][] surplus = new double[core.size][];
        double[][] outside = new double[order.length][];
        for (int b = order.length - 1; b >= 0; b--) {
            int width = core.domain[order[b]];
            double[] table = joint(b);
            double[] out = outside[b];
            if (out != null) {
                for (int o = 0, i = 0; o < out.length; o++) {
                    for (int k = 0; k < width; k++, i++) {
                        table[i] += out[o];
                    }
                }
                outside[b] = null;
            }
            double[] least = new double[width];
            Arrays.fill(least, Double.POSITIVE_INFINITY);
            for (int i = 0, size = message[b].length * width; i < size; i += width) {
                for (int k = 0; k < width; k++) {
                    least[k] = table[i + k] < least[k] ? table[i + k] : least[k];
                }
            }
            double low = Arrays.stream(least).min().orElse(0);
            for (int k = 0; k < width; k++) {
                least[k] -= low;
            }
            surplus[order[b]] = least;
            for (int c = 0; c < children[b].length; c++) {
                double[] from = message[children[b][c]];
                double[] to = new double[from.length];
                Arrays.fill(to, Double.POSITIVE_INFINITY);
                walk(b, c, to, table, false);
                for (int i = 0; i < to.length; i++) {
                    // What the child forbids stays forbidden by its own costs.
                    to[i] = from[i] == Double.POSITIVE_INFINITY ? 0 : to[i] - from[i];
                }
                outside[children[b][c]] = to;
            }
        }
        return surplus;
    }

    private void addEdges(int b, int v, int width, int size, double[] table) {
        int[] dims = scope[b];
        for (int i = 0; i < scopeEdges[b].length; i++) {
            double[] m = core.columnsOf(scopeEdges[b][i], v);
            int at = scopeEdgeAt[b][i];
            int stride = width;
            for (int d = dims.length - 1; d > at; d--) {
                stride *= core.domain[dims[d]];
            }
            int row = 0;
            for (int start = 0; start < size; start += stride) {
                for (int o = start; o < start + stride; o += width) {
                    for (int k = 0; k < width; k++) {
                        table[o + k] += m[row + k];
                    }
                }
                row += width;
                if (row == m.length) {
                    row = 0;
                }
            }
        }
    }

    /**
     * Adds a child's message to the bucket's table, or takes the least of the table's entries into it; trailing dimensions that both
     * tables share are one run.
     */
    private void walk(int b, int child, double[] message, double[] table, boolean adding) {
        int[] strides = childStrides[b][child];
        int[] dims = scope[b];
        int last = dims.length - 1;
        int run = core.domain[order[b]];
        int steps = this.message[b].length;
        while (last >= 0 && strides[last] == run) {
            run *= core.domain[dims[last]];
            steps /= core.domain[dims[last]];
            last--;
        }
        int[] index = new int[last + 1];
        int offset = 0;
        int to = 0;
        for (int step = 0; step < steps; step++) {
            if (adding) {
                for (int k = 0; k < run; k++) {
                    table[to + k] += message[offset + k];
                }
            } else {
                for (int k = 0; k < run; k++) {
                    message[offset + k] = Math.min(message[offset + k], table[to + k]);
                }
            }
            to += run;
            for (int d = last; d >= 0; d--) {
                offset += strides[d];
                if (++index[d] < core.domain[dims[d]]) {
                    break;
                }
                offset -= strides[d] * core.domain[dims[d]];
                index[d] = 0;
            }
        }
    }

    /** Costs of the bucket's values, later variables being set: own, edges and the best of everything below. */
    double[] valuesOf(int b, int[] x) {
        int v = order[b];
        int width = core.domain[v];
        System.arraycopy(own[b], 0, values, 0, width);
        for (int e : scopeEdges[b]) {
            double[] m = core.columnsOf(e, v);
            int row = x[core.other(e, v)] * width;
            for (int k = 0; k < width; k++) {
                values[k] += m[row + k];
            }
        }
        for (int c = 0; c < children[b].length; c++) {
            int offset = 0;
            int[] strides = childStrides[b][c];
            for (int d = 0; d < strides.length; d++) {
                offset += strides[d] * x[scope[b][d]];
            }
            double[] from = message[children[b][c]];
            for (int k = 0; k < width; k++) {
                values[k] += from[offset + k];
            }
        }
        return values;
    }

    /** Cost of the bucket's variable itself and its edges to later and fixed variables, without prices. */
    double costAt(int b, int[] x) {
        int v = order[b];
        int width = core.domain[v];
        double sum = core.unary[v][x[v]];
        for (int e : scopeEdges[b]) {
            sum += core.columnsOf(e, v)[x[core.other(e, v)] * width + x[v]];
        }
        for (int e : fixedEdges[b]) {
            sum += core.columnsOf(e, v)[x[core.other(e, v)] * width + x[v]];
        }
        return sum;
    }

    /** The greedy order: smallest table first. */
    private static final class Order {
        final int[] order;
        final int[][] scope;

        private final int[] local;
        private final int[][] neighbours;
        private final int[] degree;
        private final double[] logSize;
        private final int[] mark;
        private int stamp;
        private final boolean asGiven;

        Order(
                Core core,
                int[] candidates,
                int maxEntries,
                long maxTotalEntries,
                SplittableRandom random,
                Budget budget,
                boolean asGiven,
                boolean allOrNone) {
            this.asGiven = asGiven;
            int n = candidates.length;
            this.local = new int[core.size];
            Arrays.fill(local, -1);
            for (int i = 0; i < n; i++) {
                local[candidates[i]] = i;
            }
            this.neighbours = new int[n][];
            this.degree = new int[n];
            this.logSize = new double[n];
            this.mark = new int[n];
            for (int i = 0; i < n; i++) {
                int[] edges = core.incident[candidates[i]];
                neighbours[i] = new int[edges.length + 4];
                for (int e : edges) {
                    int u = local[core.other(e, candidates[i])];
                    if (u >= 0) {
                        neighbours[i][degree[i]++] = u;
                    }
                }
                logSize[i] = Math.log(core.domain[candidates[i]]);
            }
            double[] noise = new double[n];
            double[] key = new double[n];
            PriorityQueue<Entry> queue = new PriorityQueue<>(n + 1);
            for (int i = 0; i < n; i++) {
                noise[i] = random.nextDouble() * 0.5;
                key[i] = asGiven ? i : tableLog(i) + noise[i];
                queue.add(new Entry(key[i], i));
            }
            boolean[] done = new boolean[n];
            int[] found = new int[n];
            int[][] foundScope = new int[n][];
            int count = 0;
            double maxLog = Math.log(maxEntries) + 1e-9;
            long total = 0;
            while (!queue.isEmpty()) {
                budget.check();
                Entry top = queue.poll();
                int i = top.index;
                if (done[i] || top.key != key[i]) {
                    continue;
                }
                double log = tableLog(i);
                boolean full = total + Math.exp(log) > maxTotalEntries && degree[i] > 0;
                if (allOrNone && (log > maxLog || full)) {
                    break;
                }
                if (log > maxLog || full) {
                    int victim = victim(i, full, random);
                    done[victim] = true;
                    detach(victim);
                    for (int d = 0; d < degree[victim]; d++) {
                        refresh(neighbours[victim][d], key, noise, queue);
                    }
                    if (victim != i) {
                        queue.add(new Entry(key[i], i));
                    }
                    continue;
                }
                total += (long) Math.exp(log);
                done[i] = true;
                found[count] = candidates[i];
                int[] vars = new int[degree[i]];
                for (int d = 0; d < vars.length; d++) {
                    vars[d] = candidates[neighbours[i][d]];
                }
                foundScope[count++] = vars;
                detach(i);
                connect(i);
                for (int d = 0; d < degree[i]; d++) {
                    refresh(neighbours[i][d], key, noise, queue);
                }
            }
            order = Arrays.copyOf(found, count);
            scope = new int[count][];
            boolean[] isFree = new boolean[core.size];
            for (int v : order) {
                isFree[v] = true;
            }
            for (int b = 0; b < count; b++) {
                // A variable that was fixed later than the bucket was made is no dimension of its table.
                scope[b] = Arrays.stream(foundScope[b]).filter(v -> isFree[v]).toArray();
            }
        }

        private record Entry(double key, int index) implements Comparable<Entry> {
            @Override
            public int compareTo(Entry other) {
                int c = Double.compare(key, other.key);
                return c != 0 ? c : Integer.compare(index, other.index);
            }
        }

        private void refresh(int i, double[] key, double[] noise, PriorityQueue<Entry> queue) {
            double now = tableLog(i) + noise[i];
            if (!asGiven && now != key[i]) {
                key[i] = now;
                queue.add(new Entry(now, i));
            }
        }

        private double tableLog(int i) {
            double sum = logSize[i];
            for (int d = 0; d < degree[i]; d++) {
                sum += logSize[neighbours[i][d]];
            }
            return sum;
        }

        /** The variable to fix: one of high degree in or around the smallest table. */
        private int victim(int i, boolean full, SplittableRandom random) {
            int best = i;
            double bestScore = degree[i] * logSize[i] * random.nextDouble(0.4, 1);
            for (int d = 0; d < degree[i]; d++) {
                int u = neighbours[i][d];
                double score = degree[u] * (full ? 1 : logSize[u]) * random.nextDouble(0.4, 1);
                if (score > bestScore) {
                    bestScore = score;
                    best = u;
                }
            }
            return best;
        }

        private void detach(int i) {
            for (int d = 0; d < degree[i]; d++) {
                int u = neighbours[i][d];
                for (int p = 0; p < degree[u]; p++) {
                    if (neighbours[u][p] == i) {
                        neighbours[u][p] = neighbours[u][--degree[u]];
                        break;
                    }
                }
            }
        }

        private void connect(int i) {
            for (int d = 0; d < degree[i]; d++) {
                int u = neighbours[i][d];
                stamp++;
                mark[u] = stamp;
                for (int p = 0; p < degree[u]; p++) {
                    mark[neighbours[u][p]] = stamp;
                }
                for (int p = 0; p < degree[i]; p++) {
                    int w = neighbours[i][p];
                    if (mark[w] != stamp) {
                        if (degree[u] == neighbours[u].length) {
                            neighbours[u] = Arrays.copyOf(neighbours[u], 2 * degree[u]);
                        }
                        neighbours[u][degree[u]++] = w;
                    }
                }
            }
        }
    }
}
