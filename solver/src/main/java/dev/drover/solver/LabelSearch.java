package dev.drover.solver;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Exact dynamic programming over all variables of a narrow core with the usage limits as resources.
 *
 * <pre>
 *   label       a partial choice in reverse order of elimination: the values that later variables see (its group), its cost,
 *               its usage as a few numbers ({@link Resources})
 *   bound       its cost and prices, and the elimination's messages as the exact priced cost of the rest: not below the best
 *               known cost, the label goes
 *   dominance   a label of the same group that costs no more and uses no more in all numbers makes another one needless
 *   width       at most so many labels stay, those of the least bounds; the least bound of those that went bounds all of them
 * </pre>
 *
 * With enough width the result is proven; with less it is a beam search that still gives a bound. Equal layers have equal labels up to
 * a few numbers, so that their labels are as many as the different sums, not as the choices. Source: label setting for resource
 * constrained paths, Desrochers and Soumis 1988.
 */
final class LabelSearch {
    /** Kept labels that a new one is compared with at most, if there are three numbers or more. */
    private static final int COMPARED = 300;

    /** Numbers of a label at most, unless few labels are open. */
    static final int MOST_NUMBERS = 64;

    /** Orders that are tried for the tree. */
    private static final int TREES = 2;

    private static final int MOST_ENTRIES = 1 << 18;
    private static final long MOST_TOTAL_ENTRIES = 1 << 23;

    /** The same for the order of the tree, whose tables are few for their size. */
    private static final int MOST_TREE_ENTRIES = 1 << 22;

    private static final long MOST_TOTAL_TREE_ENTRIES = 1 << 26;

    /** Labels of all layers at most: what is kept of each to trace the best one back are six bytes. */
    private static final long MOST_LABELS = 1L << 26;

    /** Labels of one layer that there is always room for. */
    private static final int FEWEST = 256;

    /** Numbers of all new labels of a layer at most. */
    private static final long MOST_NEW_NUMBERS = 1L << 25;

    private final Core core;
    private final Elimination plan;
    private final Resources resources;
    private final Budget budget;
    /** The variables whose values later buckets read, after each bucket. */
    private final int[][] frontier;

    private final int[] x;
    private double least = Double.POSITIVE_INFINITY;
    private double atLimit;
    private boolean complete;
    private int @Nullable [] best;
    /** Pairs of labels since the budget was told. */
    private long compared;

    /** Returns a search along the layers of the core; null if its tables or its labels would be too large. */
    static @Nullable LabelSearch along(Core core, int mostNumbers, Budget budget) {
        return alongOrder(core, LinearOrder.of(core), mostNumbers, budget);
    }

    /** The same with the parts that only usage joins side by side; null also if all is one part. */
    static @Nullable LabelSearch sideBySide(Core core, int mostNumbers, Budget budget) {
        int[] order = LinearOrder.sideBySide(core);
        return order == null ? null : alongOrder(core, order, mostNumbers, budget);
    }

    private static @Nullable LabelSearch alongOrder(Core core, int[] order, int mostNumbers, Budget budget) {
        for (int i = 0, j = order.length - 1; i < j; i++, j--) {
            int first = order[i];
            order[i] = order[j];
            order[j] = first;
        }
        return inOrder(core, order, MOST_ENTRIES, MOST_TOTAL_ENTRIES, mostNumbers, budget);
    }

    /**
     * Returns a search along the tree of buckets of the best order of elimination known, from its root to the leaves: where layers are
     * wide, but fall apart into branches. Null if the tables or the labels would be too large.
     */
    static @Nullable LabelSearch alongTree(Core core, long seed, int mostNumbers, Budget budget) {
        SplittableRandom random = new SplittableRandom(seed);
        Elimination tree = null;
        for (int attempt = 0; attempt < TREES; attempt++) {
            Elimination other = Elimination.whole(core, MOST_TREE_ENTRIES, MOST_TOTAL_TREE_ENTRIES, random, budget);
            budget.spend(100L * core.size);
            if (other == null) {
                break;
            }
            if (tree == null || other.entries() < tree.entries()) {
                tree = other;
            }
        }
        return tree == null
                ? null
                : inOrder(core, tree.depthFirst(), MOST_TREE_ENTRIES, MOST_TOTAL_TREE_ENTRIES, mostNumbers, budget);
    }

    private static @Nullable LabelSearch inOrder(
            Core core, int[] order, int mostEntries, long mostTotalEntries, int mostNumbers, Budget budget) {
        Elimination plan = Elimination.inOrder(core, order, mostEntries, mostTotalEntries, budget);
        if (plan == null || Arrays.stream(core.domain).max().orElse(0) > Character.MAX_VALUE) {
            return null;
        }
        LabelSearch search = new LabelSearch(core, plan, mostNumbers, budget);
        return search.numbers() > mostNumbers ? null : search;
    }

    LabelSearch(Core core, Elimination plan, int mostNumbers, Budget budget) {
        this.core = core;
        this.plan = plan;
        this.budget = budget;
        this.x = new int[core.size];
        int n = plan.order.length;
        int[] sequence = new int[n];
        int[] neededDownTo = new int[core.size];
        Arrays.fill(neededDownTo, n);
        for (int b = n - 1; b >= 0; b--) {
            sequence[n - 1 - b] = plan.order[b];
            for (int u : plan.scope(b)) {
                neededDownTo[u] = b;
            }
        }
        resources = new Resources(core, core.limit, sequence, mostNumbers);
        frontier = new int[n][];
        List<Integer> now = new ArrayList<>();
        for (int b = n - 1; b >= 0; b--) {
            now.add(plan.order[b]);
            int bucket = b;
            now.removeIf(v -> neededDownTo[v] >= bucket);
            frontier[b] = now.stream().mapToInt(Integer::intValue).toArray();
        }
    }

    /** Numbers that a label has at most. */
    int numbers() {
        return resources.widest();
    }

    /** The greatest width that memory allows. */
    int mostWidth() {
        long widest = Arrays.stream(core.domain).max().orElse(1);
        return (int) Math.min((1 << 24) / widest, MOST_NEW_NUMBERS / (widest * (numbers() + 5)));
    }

    /** All labels after one bucket, those of one group together. */
    private static final class Layer {
        private final List<int[]> groups = new ArrayList<>();
        private int[] groupStart = new int[0];
        private double[] cost = new double[0];
        private double[] bound = new double[0];
        private long[] y = new long[0];
        private int[] parent = new int[0];
        private char[] choice = new char[0];
    }

    /** New labels before dominance. */
    private static final class Draft {
        private final int columns;
        private int count;
        private int[] group = new int[256];
        private double[] cost = new double[256];
        private double[] bound = new double[256];
        private int[] parent = new int[256];
        private int[] choice = new int[256];
        private long[] y;

        Draft(int columns) {
            this.columns = columns;
            this.y = new long[256 * columns];
        }

        void grow() {
            int to = 2 * count;
            group = Arrays.copyOf(group, to);
            cost = Arrays.copyOf(cost, to);
            bound = Arrays.copyOf(bound, to);
            parent = Arrays.copyOf(parent, to);
            choice = Arrays.copyOf(choice, to);
            y = Arrays.copyOf(y, to * columns);
        }
    }

    /** The best values found, null if none are cheaper than the known ones. */
    int @Nullable [] best() {
        return best;
    }

    /**
     * Searches.
     *
     * @param price of each row
     * @param known cost of the best choice known
     * @param width labels that stay after each variable
     * @return no choice cheaper than {@link #best} and {@code known} costs less than this; both costs if all was searched
     */
    double search(double[] price, double known, int width) {
        int n = plan.order.length;
        least = known;
        best = null;
        atLimit = core.atLimit(price);
        complete = false;
        double[][] theta = core.priced(price);
        budget.spend(2 * plan.entries());
        Layer layer = new Layer();
        layer.groups.add(new int[0]);
        layer.groupStart = new int[] {0, 1};
        layer.cost = new double[] {core.constant};
        layer.bound = new double[] {core.constant - atLimit + plan.collect(theta, x)};
        layer.y = new long[1];
        double lost = Double.POSITIVE_INFINITY;
        long room = MOST_LABELS;
        Layer[] layers = new Layer[n];
        int[] before = new int[0];
        for (int b = n - 1; b >= 0; b--) {
            budget.check();
            Draft draft = expand(layer, b, before);
            layer.y = new long[0];
            Layer next = layer(draft);
            budget.spend(4 * compared);
            compared = 0;
            // One layer may be far above the mean, but not all.
            long widest = Math.min(width, Math.max(FEWEST, 8 * room / (b + 1)));
            lost = Math.min(lost, narrow(next, draft.columns, (int) widest));
            room = Math.max(0, room - next.cost.length);
            layers[b] = next;
            layer.cost = new double[0];
            layer.bound = new double[0];
            layer = next;
            before = frontier[b];
            if (next.cost.length == 0) {
                complete = !isOpen(lost);
                return Math.min(lost, least);
            }
        }
        for (int i = 0; i < layer.cost.length; i++) {
            if (layer.cost[i] < least) {
                least = layer.cost[i];
                best = trace(layers, i);
            }
        }
        complete = !isOpen(lost);
        return Math.min(lost, least);
    }

    /** Whether the latest search proved that no choice costs less than the best known one, to the last digit. */
    boolean complete() {
        return complete;
    }

    private int[] trace(Layer[] layers, int label) {
        int[] values = new int[core.size];
        int at = label;
        for (int b = 0; b < layers.length; b++) {
            values[plan.order[b]] = layers[b].choice[at];
            at = layers[b].parent[at];
        }
        return values;
    }

    private boolean isOpen(double bound) {
        return bound < least - 1 + core.rounding(Math.abs(least) + atLimit);
    }

    private final Map<IntRow, Integer> groupByValues = new HashMap<>();
    private final List<int[]> newGroups = new ArrayList<>();

    private Draft expand(Layer layer, int b, int[] before) {
        Resources.Step step = resources.steps.get(plan.order.length - 1 - b);
        int v = plan.order[b];
        int width = core.domain[v];
        int columnsBefore = layer.cost.length == 0 ? 0 : layer.y.length / layer.cost.length;
        Draft draft = new Draft(step.columns());
        groupByValues.clear();
        newGroups.clear();
        int[] after = frontier[b];
        double[] local = new double[width];
        int[] groupOf = new int[width];
        for (int g = 0; g + 1 < layer.groupStart.length; g++) {
            int[] values = layer.groups.get(g);
            for (int i = 0; i < before.length; i++) {
                x[before[i]] = values[i];
            }
            double[] togo = plan.valuesOf(b, x).clone();
            double low = Double.POSITIVE_INFINITY;
            for (int k = 0; k < width; k++) {
                low = Math.min(low, togo[k]);
            }
            for (int k = 0; k < width; k++) {
                x[v] = k;
                groupOf[k] = -1;
                if (togo[k] != Double.POSITIVE_INFINITY) {
                    local[k] = plan.costAt(b, x);
                }
            }
            budget.spend(20L * (layer.groupStart[g + 1] - layer.groupStart[g]) * width);
            for (int i = layer.groupStart[g]; i < layer.groupStart[g + 1]; i++) {
                for (int k = 0; k < width; k++) {
                    double bound = layer.bound[i] + togo[k] - low;
                    if (!isOpen(bound)) {
                        continue;
                    }
                    if (draft.count == draft.cost.length) {
                        draft.grow();
                    }
                    int at = draft.count;
                    if (!step.take(k, layer.y, i * columnsBefore, draft.y, at * draft.columns)) {
                        continue;
                    }
                    if (groupOf[k] < 0) {
                        x[v] = k;
                        groupOf[k] = group(after);
                    }
                    draft.group[at] = groupOf[k];
                    draft.cost[at] = layer.cost[i] + local[k];
                    draft.bound[at] = bound;
                    draft.parent[at] = i;
                    draft.choice[at] = k;
                    draft.count++;
                }
            }
        }
        return draft;
    }

    private int group(int[] after) {
        int[] values = new int[after.length];
        for (int i = 0; i < values.length; i++) {
            values[i] = x[after[i]];
        }
        return groupByValues.computeIfAbsent(new IntRow(values), k -> {
            newGroups.add(values);
            return newGroups.size() - 1;
        });
    }

    /** The labels that no other one dominates, by group, the cheaper ones first. */
    private Layer layer(Draft draft) {
        int groups = newGroups.size();
        int[] start = new int[groups + 1];
        for (int i = 0; i < draft.count; i++) {
            start[draft.group[i] + 1]++;
        }
        for (int g = 0; g < groups; g++) {
            start[g + 1] += start[g];
        }
        int[] member = new int[draft.count];
        int[] filled = Arrays.copyOf(start, groups);
        for (int i = 0; i < draft.count; i++) {
            member[filled[draft.group[i]]++] = i;
        }
        int[] kept = new int[draft.count];
        int count = 0;
        int[] keptStart = new int[groups + 1];
        for (int g = 0; g < groups; g++) {
            keptStart[g] = count;
            count = undominated(draft, byCost(draft, member, start[g], start[g + 1]), kept, count);
        }
        keptStart[groups] = count;
        Layer layer = new Layer();
        layer.groups.addAll(newGroups);
        layer.groupStart = keptStart;
        layer.cost = new double[count];
        layer.bound = new double[count];
        layer.parent = new int[count];
        layer.choice = new char[count];
        layer.y = new long[count * draft.columns];
        for (int i = 0; i < count; i++) {
            int from = kept[i];
            layer.cost[i] = draft.cost[from];
            layer.bound[i] = draft.bound[from];
            layer.parent[i] = draft.parent[from];
            layer.choice[i] = (char) draft.choice[from];
            System.arraycopy(draft.y, from * draft.columns, layer.y, i * draft.columns, draft.columns);
        }
        return layer;
    }

    /** The members of a group, cheaper ones first, in the last 24 bits of each key. */
    private static long[] byCost(Draft draft, int[] member, int from, int to) {
        double low = Double.POSITIVE_INFINITY;
        double high = Double.NEGATIVE_INFINITY;
        for (int i = from; i < to; i++) {
            low = Math.min(low, draft.cost[member[i]]);
            high = Math.max(high, draft.cost[member[i]]);
        }
        long[] keys = new long[to - from];
        if (high - low >= 0x1p38) {
            int[] sorted = Arrays.stream(member, from, to)
                    .boxed()
                    .sorted(Comparator.comparingDouble((Integer i) -> draft.cost[i])
                            .thenComparingInt(i -> i))
                    .mapToInt(Integer::intValue)
                    .toArray();
            Arrays.setAll(keys, i -> sorted[i]);
            return keys;
        }
        for (int i = from; i < to; i++) {
            keys[i - from] = (long) (draft.cost[member[i]] - low) << 24 | member[i];
        }
        Arrays.sort(keys);
        return keys;
    }

    private int undominated(Draft draft, long[] keys, int[] kept, int from) {
        int columns = draft.columns;
        int count = from;
        TreeMap<Long, Long> stairs = new TreeMap<>();
        long lowest = Long.MAX_VALUE;
        for (long key : keys) {
            int i = (int) (key & 0xffffff);
            long first = columns == 0 ? 0 : draft.y[i * columns];
            if (columns <= 1) {
                if (first >= lowest) {
                    continue;
                }
                lowest = first;
            } else if (columns == 2) {
                long second = draft.y[i * columns + 1];
                Map.Entry<Long, Long> below = stairs.floorEntry(first);
                if (below != null && below.getValue() <= second) {
                    continue;
                }
                Map.Entry<Long, Long> above = stairs.ceilingEntry(first);
                while (above != null && above.getValue() >= second) {
                    stairs.remove(above.getKey());
                    above = stairs.ceilingEntry(first);
                }
                stairs.put(first, second);
            } else if (isDominated(draft, i, kept, Math.max(from, count - COMPARED), count)) {
                continue;
            }
            kept[count++] = i;
        }
        return count;
    }

    private boolean isDominated(Draft draft, int i, int[] kept, int from, int to) {
        int columns = draft.columns;
        for (int j = to - 1; j >= from; j--) {
            int other = kept[j];
            boolean less = draft.cost[other] <= draft.cost[i];
            for (int c = 0; c < columns && less; c++) {
                less = draft.y[other * columns + c] <= draft.y[i * columns + c];
            }
            if (less) {
                compared += to - j;
                return true;
            }
        }
        compared += to - from;
        return false;
    }

    /**
     * Leaves the labels of the least bounds; returns the least bound of those that go. While no choice is known half of the places go to
     * others, spread over all groups and costs: the cheapest ones may all use too much.
     */
    private double narrow(Layer layer, int columns, int width) {
        int count = layer.cost.length;
        if (count <= width) {
            return Double.POSITIVE_INFINITY;
        }
        double[] sorted = layer.bound.clone();
        Arrays.sort(sorted);
        int cheapest = least == Double.POSITIVE_INFINITY ? (width + 1) / 2 : width;
        double most = sorted[cheapest - 1];
        int others = count - cheapest;
        int room = width - cheapest;
        int below = 0;
        int passed = 0;
        double lost = Double.POSITIVE_INFINITY;
        int left = 0;
        int[] start = new int[layer.groupStart.length];
        for (int g = 0; g + 1 < start.length; g++) {
            start[g] = left;
            for (int i = layer.groupStart[g]; i < layer.groupStart[g + 1]; i++) {
                boolean cheap = layer.bound[i] <= most && below < cheapest;
                below += cheap ? 1 : 0;
                passed += cheap ? 0 : 1;
                boolean spread = !cheap && (long) passed * room / others > (long) (passed - 1) * room / others;
                if (!cheap && !spread) {
                    lost = Math.min(lost, layer.bound[i]);
                    continue;
                }
                layer.cost[left] = layer.cost[i];
                layer.bound[left] = layer.bound[i];
                layer.parent[left] = layer.parent[i];
                layer.choice[left] = layer.choice[i];
                System.arraycopy(layer.y, i * columns, layer.y, left * columns, columns);
                left++;
            }
        }
        start[start.length - 1] = left;
        layer.groupStart = start;
        layer.cost = Arrays.copyOf(layer.cost, left);
        layer.bound = Arrays.copyOf(layer.bound, left);
        layer.parent = Arrays.copyOf(layer.parent, left);
        layer.choice = Arrays.copyOf(layer.choice, left);
        layer.y = Arrays.copyOf(layer.y, left * columns);
        return lost;
    }
}
