package dev.drover.backend.torch.kernel;

import dev.drover.backend.torch.comm.NativeBuffer;
import dev.drover.backend.torch.emit.Emitter;
import dev.drover.backend.torch.emit.Node;
import dev.drover.backend.torch.emit.Step;
import dev.drover.backend.torch.emit.View;
import dev.drover.ir.eval.Literal;
import dev.drover.ir.ops.AllToAll;
import dev.drover.ir.ops.CollectiveBroadcast;
import dev.drover.ir.ops.CollectivePermute;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.runtime.comm.Communicator;
import dev.drover.runtime.comm.Transfer;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.bytedeco.pytorch.Tensor;
import org.jspecify.annotations.Nullable;

/** Collectives that move values from member to member: all-to-all, collective-permute, broadcast. */
final class Exchanges {
    private Exchanges() {}

    static void allToAll(Emitter emitter, Node node) {
        AllToAll op = (AllToAll) node.op();
        List<Integer> members = Collective.members(emitter, op.channel());
        int parts = members.size();
        if (members.size() == 1) {
            Collective.passThrough(emitter, node, 0);
            return;
        }
        View packed;
        if (op.splitDimension() >= 0) {
            packed = emitter.contiguous(
                    Collective.blocksInFront(emitter, emitter.input(node, 0), op.splitDimension(), parts));
        } else {
            packed = stacked(emitter, node);
        }
        View received = emitter.scratch(packed.shape());
        Collective.exchange(emitter, List.of(Collective.part(emitter, members, packed, received, (group, in, out) -> {
            long[] counts = Collective.counts(in.elements() / parts, parts);
            return group.allToAll(in, out, counts, counts);
        })));
        if (op.splitDimension() >= 0) {
            emitter.define(node.ref(), Collective.blocksInside(emitter, received, op.splitDimension()));
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
        List<View> pieces = Collective.inputs(emitter, node);
        List<View> places =
                IntStream.range(0, pieces.size()).mapToObj(packed::select).toList();
        emitter.step(pieces, List.of(packed), binder -> Packs.copies(binder, pieces, places));
        return packed;
    }

    static void permute(Emitter emitter, Node node) {
        CollectivePermute op = (CollectivePermute) node.op();
        int self = emitter.context().device();
        int n = node.inputs().size();
        int first = op.start() ? n : 0;
        List<Integer> members = op.members(self, emitter.context().devices());
        List<Collective.Part> parts = new ArrayList<>();
        for (int i = 0; i < n; i++) {
            View x = emitter.input(node, i);
            if (op.start()) {
                emitter.define(node.ref(i), x);
            }
            View input = emitter.contiguous(x);
            View out = emitter.result(node, first + i);
            int tag = i;
            parts.add(new Collective.Part(List.of(input), List.of(out), List.of(), binder -> {
                @Nullable
                Communicator group = members.size() > 1 ? binder.group(Collective.ranks(emitter, members)) : null;
                NativeBuffer from = Collective.flat(binder, input);
                NativeBuffer to = Collective.flat(binder, out);
                Tensor source = binder.tensor(input);
                Tensor target = binder.tensor(out);
                return () -> move(op, self, members, group, from, to, source, target, tag);
            }));
        }
        Collective.exchange(emitter, parts);
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
        return Collective.together(transfers);
    }

    static void broadcast(Emitter emitter, Node node) {
        CollectiveBroadcast op = (CollectiveBroadcast) node.op();
        int self = emitter.context().device();
        List<List<Integer>> groups = op.channel().groups().groups();
        boolean takesPart = groups.isEmpty() || groups.stream().anyMatch(g -> g.contains(self));
        View x = emitter.input(node, 0);
        View out = emitter.result(node);
        List<Integer> members = takesPart ? Collective.members(emitter, op.channel()) : List.of();
        emitter.effect(List.of(x), List.of(out), List.of(new Step.Alias(out, x)), binder -> {
            @Nullable Communicator group = members.size() > 1 ? binder.group(Collective.ranks(emitter, members)) : null;
            Tensor from = binder.tensor(x);
            Tensor to = binder.tensor(out);
            NativeBuffer buffer = Collective.flat(binder, out);
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
