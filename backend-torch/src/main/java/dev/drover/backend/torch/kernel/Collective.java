package dev.drover.backend.torch.kernel;

import dev.drover.backend.torch.comm.CollectiveScratch;
import dev.drover.backend.torch.comm.NativeBuffer;
import dev.drover.backend.torch.emit.Binder;
import dev.drover.backend.torch.emit.DeviceContext;
import dev.drover.backend.torch.emit.Emitter;
import dev.drover.backend.torch.emit.Node;
import dev.drover.backend.torch.emit.Step;
import dev.drover.backend.torch.emit.View;
import dev.drover.ir.UserError;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.graph.Computation;
import dev.drover.ir.ops.AllGather;
import dev.drover.ir.ops.AllReduce;
import dev.drover.ir.ops.AllToAll;
import dev.drover.ir.ops.Channel;
import dev.drover.ir.ops.CollectiveBroadcast;
import dev.drover.ir.ops.CollectivePermute;
import dev.drover.ir.ops.ReduceScatter;
import dev.drover.ir.ops.Reducers;
import dev.drover.ir.ops.Reduction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.runtime.comm.Communicator;
import dev.drover.runtime.comm.Transfer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Supplier;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/**
 * Collectives through the runtime's communicators, which take flat buffers: a cut along another dim than the first is a block-wise
 * rearrangement before or after. A collective is started where it stands and awaited before the first use of its results (see {@link
 * Emitter#exchange}); {@code -start} and {@code -done} forms mean the same here, and all operands of one are under way together.
 */
final class Collective {
    private Collective() {}

    static void partitionId(Emitter emitter, Node node) {
        emitter.define(
                node.ref(),
                emitter.constant(Literal.scalar(DType.U32, emitter.context().device())));
    }

    static void replicaId(Emitter emitter, Node node) {
        emitter.define(node.ref(), emitter.constant(Literal.scalar(DType.U32, 0)));
    }

    /** Results of a start are (operands, results, ..) or just the results. */
    static void done(Emitter emitter, Node node) {
        int results = node.results().size();
        int inputs = node.inputs().size();
        int skip = inputs == results ? 0 : inputs >= 2 * results ? results : 0;
        for (int i = 0; i < results; i++) {
            emitter.define(node.ref(i), emitter.input(node, skip + i));
        }
    }

    private static List<Integer> members(Emitter emitter, Channel channel) {
        DeviceContext context = emitter.context();
        return channel.groups().groupOf(context.device(), context.devices());
    }

    private static List<Integer> ranks(Emitter emitter, List<Integer> members) {
        return emitter.context().ranks(members);
    }

    private static Reduction reduction(Node node, Computation reducer) {
        Reduction reduction = Reducers.of(reducer);
        if (reduction == null) {
            throw new UserError(
                    "The reducer (" + reducer.name() + ") of " + node.op().opcode() + " (" + node.name()
                            + ") must be one of add, multiply, minimum, maximum, and, or.");
        }
        return reduction;
    }

    /** The elements of a dense row-major view as a buffer. */
    private static NativeBuffer flat(Binder binder, View view) {
        View line = view.reshape(view.elements());
        if (line == null) {
            throw new IllegalStateException("The view (" + view + ") must be row-major.");
        }
        return NativeBuffer.of(view.dtype(), binder.tensor(line));
    }

    /** What happens to one operand of a collective. */
    private record Part(List<View> reads, List<View> writes, List<Step.Alias> aliases, Step.Exchange exchange) {}

    /** All operands at once: each starts, then each is awaited. */
    private static void exchange(Emitter emitter, List<Part> parts) {
        if (parts.isEmpty()) {
            return;
        }
        emitter.exchange(
                parts.stream().flatMap(part -> part.reads.stream()).toList(),
                parts.stream().flatMap(part -> part.writes.stream()).toList(),
                parts.stream().flatMap(part -> part.aliases.stream()).toList(),
                binder -> {
                    List<Supplier<Transfer>> starts = parts.stream()
                            .map(part -> part.exchange.bind(binder))
                            .toList();
                    return () -> together(starts.stream().map(Supplier::get).toList());
                });
    }

    private static Transfer together(List<Transfer> transfers) {
        return transfers.size() == 1 ? transfers.get(0) : () -> transfers.forEach(Transfer::await);
    }

    static void allReduce(Emitter emitter, Node node) {
        AllReduce op = (AllReduce) node.op();
        List<Integer> members = members(emitter, op.channel());
        Reduction reduction = reduction(node, op.reducer());
        List<Part> parts = new ArrayList<>();
        for (int i = 0; i < node.inputs().size(); i++) {
            View x = emitter.input(node, i);
            if (members.size() == 1 || x.elements() == 0) {
                emitter.define(node.ref(i), x);
                continue;
            }
            View out = emitter.result(node, i);
            View scratch = emitter.scratch(
                    x.dtype(), CollectiveScratch.allReduce(x.elements(), x.dtype(), reduction, members.size()));
            // In place unless another operand is the same value.
            boolean once = node.inputs().stream().filter(node.input(i)::equals).count() == 1;
            List<Step.Alias> aliases = once ? List.of(new Step.Alias(out, x)) : List.of();
            parts.add(new Part(List.of(x), List.of(out, scratch), aliases, binder -> {
                Communicator group = binder.group(ranks(emitter, members));
                Tensor from = binder.tensor(x);
                Tensor to = binder.tensor(out);
                boolean inPlace = binder.same(x, out);
                NativeBuffer buffer = flat(binder, out);
                NativeBuffer free = flat(binder, scratch);
                return () -> {
                    if (!inPlace) {
                        to.copy_(from);
                    }
                    return group.allReduce(buffer, reduction, free);
                };
            }));
        }
        exchange(emitter, parts);
    }

    /** {@code [a.., parts * b, c..]} seen as {@code [parts, a.., b, c..]}: blocks in front. */
    private static View blocksInFront(Emitter emitter, View view, int dim, long parts) {
        long[] sizes = new long[view.rank() + 1];
        int[] order = new int[view.rank() + 1];
        int at = 1;
        for (int d = 0; d < view.rank(); d++) {
            sizes[d < dim ? d : d + 1] = view.size(d);
        }
        sizes[dim] = parts;
        sizes[dim + 1] = view.size(dim) / parts;
        order[0] = dim;
        for (int d = 0; d <= view.rank(); d++) {
            if (d != dim) {
                order[at++] = d;
            }
        }
        return emitter.reshape(view, sizes).permute(order);
    }

    private static long[] counts(long each, int parts) {
        long[] counts = new long[parts];
        Arrays.fill(counts, each);
        return counts;
    }

    static void allGather(Emitter emitter, Node node) {
        AllGather op = (AllGather) node.op();
        List<Integer> members = members(emitter, op.channel());
        int n = node.inputs().size();
        int skip = op.start() && node.results().size() == 2 * n ? n : 0;
        List<Part> parts = new ArrayList<>();
        List<View> all = new ArrayList<>();
        for (int i = 0; i < n; i++) {
            View x = emitter.input(node, i);
            if (skip > 0) {
                emitter.define(node.ref(i), x);
            }
            if (members.size() == 1) {
                emitter.define(node.ref(skip + i), x);
                continue;
            }
            View input = emitter.contiguous(x);
            long[] dims = new long[x.rank() + 1];
            dims[0] = members.size();
            System.arraycopy(x.sizes(), 0, dims, 1, x.rank());
            View gathered = emitter.scratch(x.dtype(), dims);
            all.add(gathered);
            parts.add(part(
                    emitter,
                    members,
                    input,
                    gathered,
                    (group, in, out) -> group.allGather(in, out, counts(in.elements(), members.size()))));
        }
        exchange(emitter, parts);
        for (int i = 0; i < all.size(); i++) {
            emitter.define(node.ref(skip + i), blocksInside(emitter, all.get(i), op.dimension()));
        }
    }

    /** {@code [parts, a.., b, c..]} seen as {@code [a.., parts * b, c..]}. */
    private static View blocksInside(Emitter emitter, View view, int dim) {
        int[] order = new int[view.rank()];
        long[] sizes = new long[view.rank() - 1];
        int at = 0;
        for (int d = 1; d < view.rank(); d++) {
            if (d - 1 == dim) {
                order[at++] = 0;
            }
            order[at++] = d;
            sizes[d - 1] = view.size(d) * (d - 1 == dim ? view.size(0) : 1);
        }
        return emitter.reshape(view.permute(order), sizes);
    }

    /** What a communicator does with two flat buffers. */
    @FunctionalInterface
    private interface Exchange {
        Transfer start(Communicator group, NativeBuffer in, NativeBuffer out);
    }

    private static Part part(Emitter emitter, List<Integer> members, View input, View output, Exchange exchange) {
        return new Part(List.of(input), List.of(output), List.of(), binder -> {
            Communicator group = binder.group(ranks(emitter, members));
            NativeBuffer in = flat(binder, input);
            NativeBuffer out = flat(binder, output);
            return () -> exchange.start(group, in, out);
        });
    }

    static void reduceScatter(Emitter emitter, Node node) {
        ReduceScatter op = (ReduceScatter) node.op();
        List<Integer> members = members(emitter, op.channel());
        Reduction reduction = reduction(node, op.reducer());
        List<Part> parts = new ArrayList<>();
        for (int i = 0; i < node.inputs().size(); i++) {
            View x = emitter.input(node, i);
            if (members.size() == 1) {
                emitter.define(node.ref(i), x);
                continue;
            }
            View blocks = emitter.contiguous(blocksInFront(emitter, x, op.dimension(), members.size()));
            View out = emitter.result(node, i);
            View scratch = emitter.scratch(x.dtype(), CollectiveScratch.reduceScatter(out.elements(), members.size()));
            parts.add(new Part(List.of(blocks), List.of(out, scratch), List.of(), binder -> {
                Communicator group = binder.group(ranks(emitter, members));
                NativeBuffer in = flat(binder, blocks);
                NativeBuffer to = flat(binder, out);
                NativeBuffer free = flat(binder, scratch);
                long[] counts = counts(to.elements(), members.size());
                return () -> group.reduceScatter(in, to, counts, reduction, free);
            }));
        }
        exchange(emitter, parts);
    }

    static void allToAll(Emitter emitter, Node node) {
        AllToAll op = (AllToAll) node.op();
        List<Integer> members = members(emitter, op.channel());
        int parts = members.size();
        if (members.size() == 1) {
            for (int i = 0; i < node.inputs().size(); i++) {
                emitter.define(node.ref(i), emitter.input(node, i));
            }
            return;
        }
        View packed;
        if (op.splitDimension() >= 0) {
            packed = emitter.contiguous(blocksInFront(emitter, emitter.input(node, 0), op.splitDimension(), parts));
        } else {
            packed = stacked(emitter, node);
        }
        View received = emitter.scratch(packed.shape());
        exchange(emitter, List.of(part(emitter, members, packed, received, (group, in, out) -> {
            long[] counts = counts(in.elements() / parts, parts);
            return group.allToAll(in, out, counts, counts);
        })));
        if (op.splitDimension() >= 0) {
            emitter.define(node.ref(), blocksInside(emitter, received, op.splitDimension()));
        } else {
            for (int i = 0; i < parts; i++) {
                emitter.define(node.ref(i), received.select(i));
            }
        }
    }

    private static View stacked(Emitter emitter, Node node) {
        ArrayShape each = node.input(0).shape();
        long[] dims = new long[each.rank() + 1];
        dims[0] = node.inputs().size();
        System.arraycopy(each.dims(), 0, dims, 1, each.rank());
        View packed = emitter.scratch(each.dtype(), dims);
        List<View> pieces = new ArrayList<>();
        for (int i = 0; i < node.inputs().size(); i++) {
            pieces.add(emitter.input(node, i));
        }
        emitter.step(pieces, List.of(packed), binder -> {
            Tensor[] from = pieces.stream().map(binder::tensor).toArray(Tensor[]::new);
            Tensor[] to = new Tensor[from.length];
            for (int i = 0; i < to.length; i++) {
                to[i] = binder.tensor(packed.select(i));
            }
            return () -> {
                for (int i = 0; i < from.length; i++) {
                    to[i].copy_(from[i]);
                }
            };
        });
        return packed;
    }

    static void permute(Emitter emitter, Node node) {
        CollectivePermute op = (CollectivePermute) node.op();
        int self = emitter.context().device();
        int n = node.inputs().size();
        int first = op.start() ? n : 0;
        List<Integer> members = op.members(self, emitter.context().devices());
        List<Part> parts = new ArrayList<>();
        for (int i = 0; i < n; i++) {
            View x = emitter.input(node, i);
            if (op.start()) {
                emitter.define(node.ref(i), x);
            }
            View input = emitter.contiguous(x);
            View out = emitter.result(node, first + i);
            int tag = i;
            parts.add(new Part(List.of(input), List.of(out), List.of(), binder -> {
                @Nullable Communicator group = members.size() > 1 ? binder.group(ranks(emitter, members)) : null;
                NativeBuffer from = flat(binder, input);
                NativeBuffer to = flat(binder, out);
                Tensor source = binder.tensor(input);
                Tensor target = binder.tensor(out);
                return () -> move(op, self, members, group, from, to, source, target, tag);
            }));
        }
        exchange(emitter, parts);
        for (int i = first + n; i < node.results().size(); i++) {
            emitter.define(node.ref(i), emitter.constant(Literal.scalar(DType.U32, 0)));
        }
    }

    private static Transfer move(
            CollectivePermute op,
            int self,
            List<Integer> members,
            @Nullable Communicator group,
            NativeBuffer from,
            NativeBuffer to,
            Tensor source,
            Tensor target,
            int tag) {
        List<Transfer> transfers = new ArrayList<>();
        boolean receives = false;
        for (CollectivePermute.Pair pair : op.pairs()) {
            if (pair.source() == self && pair.target() == self) {
                target.copy_(source);
                receives = true;
            } else if (pair.source() == self && group != null) {
                transfers.add(group.send(from, members.indexOf(pair.target()), tag));
            } else if (pair.target() == self && group != null) {
                transfers.add(group.receive(to, members.indexOf(pair.source()), tag));
                receives = true;
            }
        }
        if (!receives) {
            target.zero_();
        }
        return together(transfers);
    }

    static void broadcast(Emitter emitter, Node node) {
        CollectiveBroadcast op = (CollectiveBroadcast) node.op();
        int self = emitter.context().device();
        List<List<Integer>> groups = op.channel().groups().groups();
        boolean takesPart = groups.isEmpty() || groups.stream().anyMatch(g -> g.contains(self));
        View x = emitter.input(node, 0);
        View out = emitter.result(node);
        List<Integer> members = takesPart ? members(emitter, op.channel()) : List.of();
        emitter.effect(List.of(x), List.of(out), List.of(new Step.Alias(out, x)), binder -> {
            @Nullable Communicator group = members.size() > 1 ? binder.group(ranks(emitter, members)) : null;
            Tensor from = binder.tensor(x);
            Tensor to = binder.tensor(out);
            NativeBuffer buffer = flat(binder, out);
            return () -> {
                if (takesPart) {
                    to.copy_(from);
                } else {
                    to.zero_();
                }
                if (group != null) {
                    group.broadcast(buffer, 0);
                }
            };
        });
    }
}
