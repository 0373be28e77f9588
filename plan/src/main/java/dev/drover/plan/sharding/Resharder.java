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
    /** A local step reads and writes memory; it must not look free, or paths would take detours through it. */
    private static final double LOCAL_STEP_NANOS = 1;

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
        double sum = 0;
        for (ReshardStep step : path(shape, from, to)) {
            sum += step.nanos();
        }
        return sum;
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
        long fromBytes = from.localBytes(shape, mesh);
        CollectiveKind kind;
        long bytes = fromBytes;
        if (before instanceof AxisState.Partial) {
            if (after instanceof AxisState.Partial) {
                return null;
            }
            kind = after instanceof AxisState.Cut ? CollectiveKind.REDUCE_SCATTER : CollectiveKind.ALL_REDUCE;
        } else if (before instanceof AxisState.Cut cut) {
            if (after instanceof AxisState.Partial) {
                return null;
            }
            if (after instanceof AxisState.Cut other) {
                if (other.dim() == cut.dim()) {
                    return null;
                }
                kind = CollectiveKind.ALL_TO_ALL;
            } else {
                kind = CollectiveKind.ALL_GATHER;
                bytes = to.localBytes(shape, mesh);
            }
        } else {
            boolean possible = after instanceof AxisState.Cut
                    || (after instanceof AxisState.Partial partial
                            && partial.reduction() == Reduction.SUM
                            && shape.dtype().isFloat());
            return possible ? new ReshardStep(axis, from, to, null, 0, LOCAL_STEP_NANOS) : null;
        }
        return new ReshardStep(axis, from, to, kind, bytes, cost.nanos(kind, axis, bytes));
    }
}
