package dev.drover.plan.sharding;

import dev.drover.ir.ops.Reduction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.plan.mesh.Mesh;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The cheapest way between any two shardings of a tensor: a shortest path (Dijkstra) over shardings in which each axis is as at
 * the start, as at the end, or replicated; each step changes one axis.
 *
 * <pre>
 *   partial    -> replicated  all-reduce           cut        -> cut (other dim)  all-to-all
 *   partial    -> cut         reduce-scatter       replicated -> cut              slice (local)
 *   cut        -> replicated  all-gather           replicated -> partial sum      zeros but on device 0 (local)
 * </pre>
 */
public final class Resharder {
    private final Mesh mesh;
    private final CollectiveCost cost;
    private final Map<Query, List<ReshardStep>> pathByQuery = new HashMap<>();

    private record Query(ArrayShape shape, Sharding from, Sharding to) {}

    private record Visit(
            Sharding at,
            double nanos,
            int order,
            @Nullable Visit before,
            @Nullable ReshardStep step) {}

    public Resharder(Mesh mesh, CollectiveCost cost) {
        this.mesh = mesh;
        this.cost = cost;
    }

    public Mesh mesh() {
        return mesh;
    }

    public CollectiveCost cost() {
        return cost;
    }

    /** Steps of the cheapest path; empty if the shardings are equal. */
    public List<ReshardStep> path(ArrayShape shape, Sharding from, Sharding to) {
        if (from.equals(to)) {
            return List.of();
        }
        return pathByQuery.computeIfAbsent(new Query(shape, from, to), this::search);
    }

    /** Time of the cheapest path, in nanoseconds. */
    public double nanos(ArrayShape shape, Sharding from, Sharding to) {
        return from.equals(to) ? 0 : new ReshardNanos(mesh, cost, shape, from, to).least();
    }

    private List<ReshardStep> search(Query query) {
        PriorityQueue<Visit> queue =
                new PriorityQueue<>(Comparator.comparingDouble(Visit::nanos).thenComparingInt(Visit::order));
        Map<Sharding, Double> best = new HashMap<>();
        int order = 0;
        queue.add(new Visit(query.from, 0, order++, null, null));
        best.put(query.from, 0.0);
        while (!queue.isEmpty()) {
            Visit visit = queue.remove();
            if (visit.at.equals(query.to)) {
                return steps(visit);
            }
            if (visit.nanos > best.getOrDefault(visit.at, Double.MAX_VALUE)) {
                continue;
            }
            for (ReshardStep step : neighbours(query, visit.at)) {
                double nanos = visit.nanos + step.nanos();
                if (nanos < best.getOrDefault(step.to(), Double.MAX_VALUE)) {
                    best.put(step.to(), nanos);
                    queue.add(new Visit(step.to(), nanos, order++, visit, step));
                }
            }
        }
        throw new IllegalStateException("The shardings (" + query.from.text(mesh) + ", " + query.to.text(mesh)
                + ") of a tensor (" + query.shape + ") must be joined by a path.");
    }

    private static List<ReshardStep> steps(Visit last) {
        Deque<ReshardStep> steps = new ArrayDeque<>();
        for (Visit visit = last; visit != null; visit = visit.before) {
            if (visit.step != null) {
                steps.addFirst(visit.step);
            }
        }
        return List.copyOf(steps);
    }

    private List<ReshardStep> neighbours(Query query, Sharding at) {
        List<ReshardStep> out = new ArrayList<>();
        for (int axis = 0; axis < mesh.rank(); axis++) {
            Set<AxisState> states = new LinkedHashSet<>();
            states.add(query.to.axis(axis));
            states.add(AxisState.REPLICATED);
            for (AxisState state : states) {
                Sharding next = at.with(axis, state);
                if (!next.equals(at) && next.fits(query.shape, mesh) && partialKinds(next) <= 1) {
                    ReshardStep step = step(query.shape, axis, at, next);
                    if (step != null) {
                        out.add(step);
                    }
                }
            }
        }
        return out;
    }

    private static long partialKinds(Sharding sharding) {
        return sharding.byAxis().stream()
                .filter(AxisState.Partial.class::isInstance)
                .distinct()
                .count();
    }

    private @Nullable ReshardStep step(ArrayShape shape, int axis, Sharding from, Sharding to) {
        AxisState before = from.axis(axis);
        AxisState after = to.axis(axis);
        if (!isStep(shape, before, after)) {
            return null;
        }
        CollectiveKind kind = collective(before, after);
        if (kind == null) {
            return new ReshardStep(axis, from, to, null, 0, cost.localNanos(to.localBytes(shape, mesh)));
        }
        long bytes = (kind == CollectiveKind.ALL_GATHER ? to : from).localBytes(shape, mesh);
        return new ReshardStep(axis, from, to, kind, bytes, cost.nanos(kind, axis, bytes));
    }

    /** Whether one step brings a different state of an axis about. */
    static boolean isStep(ArrayShape shape, AxisState before, AxisState after) {
        if (before instanceof AxisState.Partial) {
            return !(after instanceof AxisState.Partial);
        }
        if (before instanceof AxisState.Cut cut) {
            return after instanceof AxisState.Cut other
                    ? other.dim() != cut.dim()
                    : after instanceof AxisState.Replicated;
        }
        return after instanceof AxisState.Cut
                || (after instanceof AxisState.Partial partial
                        && partial.reduction() == Reduction.SUM
                        && shape.dtype().isFloat());
    }

    /** What such a step communicates; null for a local one. */
    static @Nullable CollectiveKind collective(AxisState before, AxisState after) {
        if (before instanceof AxisState.Partial) {
            return after instanceof AxisState.Cut ? CollectiveKind.REDUCE_SCATTER : CollectiveKind.ALL_REDUCE;
        }
        if (before instanceof AxisState.Cut) {
            return after instanceof AxisState.Cut ? CollectiveKind.ALL_TO_ALL : CollectiveKind.ALL_GATHER;
        }
        return null;
    }
}
