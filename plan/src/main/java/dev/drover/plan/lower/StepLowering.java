package dev.drover.plan.lower;

import dev.drover.ir.graph.Computation;
import dev.drover.ir.graph.ComputationBuilder;
import dev.drover.ir.graph.Instruction;
import dev.drover.ir.ops.AllGather;
import dev.drover.ir.ops.AllReduce;
import dev.drover.ir.ops.AllToAll;
import dev.drover.ir.ops.BinaryKind;
import dev.drover.ir.ops.Channel;
import dev.drover.ir.ops.CollectivePermute;
import dev.drover.ir.ops.OpBuilder;
import dev.drover.ir.ops.PartitionId;
import dev.drover.ir.ops.ReduceScatter;
import dev.drover.ir.ops.Reducers;
import dev.drover.ir.ops.Reduction;
import dev.drover.ir.ops.ReplicaGroups;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.plan.mesh.Mesh;
import dev.drover.plan.sharding.AxisState;
import dev.drover.plan.sharding.CollectiveKind;
import dev.drover.plan.sharding.ReshardStep;
import dev.drover.plan.sharding.Sharding;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.LongUnaryOperator;

/**
 * One resharding step as instructions. A cut of a dim takes a digit of the dim's index; with the digits of other axes already
 * taken, the local dim of n units is {@code [outer, parts, inner]} where inner is the cut's local stride. Where outer is 1 (block
 * sharding) the collective works on the dim itself, else on the dim opened up:
 *
 * <pre>
 *   all-gather       [outer, inner] -> [outer, 1, inner] -> gather -> [outer, parts, inner] -> [n]
 *   reduce-scatter   [n] -> [outer, parts, inner] -> reduce-scatter -> [outer, 1, inner] -> [outer, inner]
 *   all-to-all       digit of dim d to dim e: open e, exchange its digit, move it to its place in d, close both
 *   slice            [n] -> [outer, parts, inner] -> dynamic-slice -> [outer, inner]
 * </pre>
 */
final class StepLowering {
    private final ComputationBuilder builder;
    private final OpBuilder build;
    private final Mesh mesh;
    private final Map<Integer, Instruction> alongByAxis = new HashMap<>();
    private int channels;

    StepLowering(ComputationBuilder builder, Mesh mesh) {
        this.builder = builder;
        this.build = new OpBuilder(builder);
        this.mesh = mesh;
    }

    ComputationBuilder builder() {
        return builder;
    }

    Instruction lower(Instruction local, ReshardStep step) {
        int axis = step.axis();
        AxisState before = step.from().axis(axis);
        AxisState after = step.to().axis(axis);
        CollectiveKind kind = step.collective();
        if (kind == null) {
            return after instanceof AxisState.Cut cut
                    ? slice(local, axis, cut, step.to())
                    : maskedUnlessFirst(local, axis);
        }
        return switch (kind) {
            case ALL_REDUCE ->
                builder.add(
                        new AllReduce(
                                channel(axis), reducer(before, local.array().dtype())),
                        local);
            case ALL_GATHER -> allGather(local, axis, (AxisState.Cut) before, step.from());
            case REDUCE_SCATTER -> reduceScatter(local, axis, before, (AxisState.Cut) after, step.to());
            case ALL_TO_ALL -> allToAll(local, axis, (AxisState.Cut) before, (AxisState.Cut) after, step);
            case COLLECTIVE_PERMUTE -> throw new IllegalStateException("Resharding must not permute.");
        };
    }

    /** Where this device is along several axes, the first outermost, as {@code s32[]}. */
    Instruction coordinate(List<Integer> axes) {
        if (axes.isEmpty()) {
            return build.constant(DType.S32, 0);
        }
        Instruction index = along(axes.get(0));
        for (int axis : axes.subList(1, axes.size())) {
            index = build.add(build.mul(index, mesh.size(axis)), along(axis));
        }
        return index;
    }

    /**
     * The value as the device has it whose coordinate along several axes (the first outermost) is {@code sourceByPart} of this one's;
     * zeros where there is none.
     */
    Instruction fetched(Instruction value, List<Integer> axes, LongUnaryOperator sourceByPart) {
        long parts = 1;
        for (int axis : axes) {
            parts *= mesh.size(axis);
        }
        List<CollectivePermute.Pair> pairs = new ArrayList<>();
        for (int device = 0; device < mesh.devices(); device++) {
            long part = 0;
            for (int axis : axes) {
                part = part * mesh.size(axis) + mesh.coordinate(device, axis);
            }
            long from = sourceByPart.applyAsLong(part);
            if (from >= 0 && from < parts) {
                int source = device;
                for (int i = axes.size() - 1; i >= 0; i--) {
                    int axis = axes.get(i);
                    int coordinate = Math.toIntExact(from % mesh.size(axis));
                    source += (coordinate - mesh.coordinate(device, axis)) * mesh.deviceStride(axis);
                    from /= mesh.size(axis);
                }
                pairs.add(new CollectivePermute.Pair(source, device));
            }
        }
        return pairs.isEmpty() ? build.zerosLike(value) : builder.add(new CollectivePermute(++channels, pairs), value);
    }

    /** This device's block along an axis of a dim that is padded with zeros to equal blocks. */
    Instruction paddedBlock(Instruction value, int dim, int axis) {
        long size = value.array().dim(dim);
        long block = (size + mesh.size(axis) - 1) / mesh.size(axis);
        long[] none = new long[value.array().rank()];
        long[] high = none.clone();
        high[dim] = block * mesh.size(axis) - size;
        Instruction padded = build.pad(value, 0, none, high);
        return dynamicSlice(padded, dim, build.mul(along(axis), (double) block), block);
    }

    /** The blocks along an axis one after the other, without the padding at the end. */
    Instruction gatheredBlocks(Instruction block, int dim, int axis, long size) {
        return build.slice(builder.add(new AllGather(channel(axis), dim, mesh.size(axis)), block), dim, 0, size);
    }

    /** Made once: what is made of nothing but itself each program makes for itself where it needs it. */
    private Instruction along(int axis) {
        return alongByAxis.computeIfAbsent(axis, this::digit);
    }

    private Instruction digit(int axis) {
        Instruction device = build.convert(builder.add(new PartitionId()), DType.S32);
        Instruction row = mesh.deviceStride(axis) == 1 ? device : build.div(device, mesh.deviceStride(axis));
        return build.binary(BinaryKind.REMAINDER, row, build.constant(DType.S32, mesh.size(axis)));
    }

    private Channel channel(int axis) {
        List<List<Integer>> groups = mesh.groups(axis).stream()
                .map(group -> group.stream().map(Math::toIntExact).toList())
                .toList();
        return Channel.of(ReplicaGroups.of(groups), ++channels);
    }

    private static Computation reducer(AxisState state, DType dtype) {
        Reduction reduction = ((AxisState.Partial) state).reduction();
        return Reducers.computation(reduction, dtype);
    }

    private Instruction allGather(Instruction local, int axis, AxisState.Cut cut, Sharding from) {
        long inner = from.localStride(axis, cut, mesh);
        long outer = local.array().dim(cut.dim()) / inner;
        int n = mesh.size(axis);
        if (outer == 1) {
            return builder.add(new AllGather(channel(axis), cut.dim(), n), local);
        }
        Instruction open = open(local, cut.dim(), outer, 1, inner);
        Instruction gathered = builder.add(new AllGather(channel(axis), cut.dim() + 1, n), open);
        return build.reshape(
                gathered, local.array().withDim(cut.dim(), outer * n * inner).dims());
    }

    private Instruction reduceScatter(Instruction local, int axis, AxisState before, AxisState.Cut cut, Sharding to) {
        long inner = to.localStride(axis, cut, mesh);
        int n = mesh.size(axis);
        long outer = local.array().dim(cut.dim()) / (n * inner);
        DType dtype = local.array().dtype();
        if (outer == 1) {
            return builder.add(new ReduceScatter(channel(axis), cut.dim(), n, reducer(before, dtype)), local);
        }
        Instruction open = open(local, cut.dim(), outer, n, inner);
        Instruction scattered =
                builder.add(new ReduceScatter(channel(axis), cut.dim() + 1, n, reducer(before, dtype)), open);
        return build.reshape(
                scattered, local.array().withDim(cut.dim(), outer * inner).dims());
    }

    private Instruction slice(Instruction local, int axis, AxisState.Cut cut, Sharding to) {
        long inner = to.localStride(axis, cut, mesh);
        int n = mesh.size(axis);
        long outer = local.array().dim(cut.dim()) / (n * inner);
        Instruction index = along(axis);
        if (outer == 1) {
            Instruction start = build.mul(index, (double) inner);
            return dynamicSlice(local, cut.dim(), start, inner);
        }
        Instruction open = open(local, cut.dim(), outer, n, inner);
        Instruction one = dynamicSlice(open, cut.dim() + 1, index, 1);
        return build.reshape(
                one, local.array().withDim(cut.dim(), outer * inner).dims());
    }

    private Instruction dynamicSlice(Instruction value, int dim, Instruction start, long size) {
        List<Instruction> starts = new ArrayList<>();
        for (int d = 0; d < value.array().rank(); d++) {
            starts.add(d == dim ? start : build.constant(DType.S32, 0));
        }
        return build.dynamicSlice(
                value, starts, value.array().withDim(dim, size).dims());
    }

    private Instruction allToAll(Instruction local, int axis, AxisState.Cut from, AxisState.Cut to, ReshardStep step) {
        int n = mesh.size(axis);
        long innerTo = step.to().localStride(axis, to, mesh);
        long outerTo = local.array().dim(to.dim()) / (n * innerTo);
        long innerFrom = step.from().localStride(axis, from, mesh);
        long outerFrom = local.array().dim(from.dim()) / innerFrom;

        // Open dim "to" as [outerTo, n, innerTo] and dim "from" as [outerFrom, innerFrom].
        List<Long> opened = new ArrayList<>();
        int digit = -1;
        int outerFromAt = -1;
        for (int d = 0; d < local.array().rank(); d++) {
            if (d == to.dim()) {
                digit = opened.size() + 1;
                opened.addAll(List.of(outerTo, (long) n, innerTo));
            } else if (d == from.dim()) {
                outerFromAt = opened.size();
                opened.addAll(List.of(outerFrom, innerFrom));
            } else {
                opened.add(local.array().dim(d));
            }
        }
        Instruction open =
                build.reshape(local, opened.stream().mapToLong(Long::longValue).toArray());
        Instruction exchanged = builder.add(new AllToAll(channel(axis), digit), open);

        // The digit now counts the source device: its place is between outerFrom and innerFrom.
        List<Integer> order = new ArrayList<>();
        for (int d = 0; d < opened.size(); d++) {
            if (d != digit) {
                order.add(d);
            }
            if (d == outerFromAt) {
                order.add(digit);
            }
        }
        Instruction moved = build.transpose(exchanged, order);
        ArrayShape closed =
                local.array().withDim(from.dim(), outerFrom * n * innerFrom).withDim(to.dim(), outerTo * innerTo);
        return build.reshape(moved, closed.dims());
    }

    private Instruction maskedUnlessFirst(Instruction local, int axis) {
        Instruction first = build.equal(along(axis), build.constant(DType.S32, 0));
        Instruction everywhere = build.broadcastTo(first, local.array().withDType(DType.PRED));
        return build.select(everywhere, local, build.zerosLike(local));
    }

    private Instruction open(Instruction local, int dim, long outer, long middle, long inner) {
        List<Long> dims = new ArrayList<>();
        for (int d = 0; d < local.array().rank(); d++) {
            if (d == dim) {
                Collections.addAll(dims, outer, middle, inner);
            } else {
                dims.add(local.array().dim(d));
            }
        }
        return build.reshape(local, dims.stream().mapToLong(Long::longValue).toArray());
    }
}
