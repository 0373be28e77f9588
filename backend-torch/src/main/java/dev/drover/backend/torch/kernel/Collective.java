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
import dev.drover.ir.ops.Channel;
import dev.drover.ir.ops.ReduceScatter;
import dev.drover.ir.ops.Reducers;
import dev.drover.ir.ops.Reduction;
import dev.drover.ir.type.DType;
import dev.drover.runtime.comm.Communicator;
import dev.drover.runtime.comm.Transfer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.bytedeco.pytorch.Tensor;

/**
 * Collectives through the runtime's communicators, which take flat buffers: a cut along another dim than the first is a block-wise
 * rearrangement before or after. A collective is started where it stands and awaited before the first use of its results (see {@link
 * Emitter#exchange}); {@code -start} and {@code -done} forms mean the same here, and all operands of one are under way together, small ones in one message
 * ({@link Packs}). Those that move values without sums or gathers are in {@link Exchanges}.
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

    static List<Integer> members(Emitter emitter, Channel channel) {
        DeviceContext context = emitter.context();
        return channel.groups().groupOf(context.device(), context.devices());
    }

    static List<Integer> ranks(Emitter emitter, List<Integer> members) {
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
    static NativeBuffer flat(Binder binder, View view) {
        View line = view.reshape(view.elements());
        if (line == null) {
            throw new IllegalStateException("The view (" + view + ") must be row-major.");
        }
        return NativeBuffer.of(view.dtype(), binder.tensor(line));
    }

    /** What happens to one operand of a collective. */
    record Part(List<View> reads, List<View> writes, List<Step.Alias> aliases, Step.Exchange exchange) {}

    /** All operands at once: each starts, then each is awaited. */
    static void exchange(Emitter emitter, List<Part> parts) {
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

    static Transfer together(List<Transfer> transfers) {
        return transfers.size() == 1 ? transfers.get(0) : () -> transfers.forEach(Transfer::await);
    }

    static void allReduce(Emitter emitter, Node node) {
        AllReduce op = (AllReduce) node.op();
        List<Integer> members = members(emitter, op.channel());
        Reduction reduction = reduction(node, op.reducer());
        List<View> inputs = inputs(emitter, node);
        List<Part> parts = new ArrayList<>();
        for (List<Integer> pack : Packs.of(inputs)) {
            if (members.size() == 1 || Packs.elements(sizes(inputs, pack)) == 0) {
                pack.forEach(i -> emitter.define(node.ref(i), inputs.get(i)));
            } else if (pack.size() == 1) {
                parts.add(summed(emitter, node, pack.get(0), members, reduction));
            } else {
                parts.add(summedTogether(emitter, node, pack, members, reduction));
            }
        }
        exchange(emitter, parts);
    }

    /** The operands are results, from one on. */
    static void passThrough(Emitter emitter, Node node, int first) {
        for (int i = 0; i < node.inputs().size(); i++) {
            emitter.define(node.ref(first + i), emitter.input(node, i));
        }
    }

    static List<View> inputs(Emitter emitter, Node node) {
        return IntStream.range(0, node.inputs().size())
                .mapToObj(i -> emitter.input(node, i))
                .toList();
    }

    private static List<long[]> sizes(List<View> views, List<Integer> pack) {
        return pack.stream().map(i -> views.get(i).sizes()).toList();
    }

    private static Part summed(Emitter emitter, Node node, int operand, List<Integer> members, Reduction reduction) {
        View x = emitter.input(node, operand);
        View out = emitter.result(node, operand);
        View scratch = sumScratch(emitter, x, reduction, members);
        // In place unless another operand is the same value.
        boolean once =
                node.inputs().stream().filter(node.input(operand)::equals).count() == 1;
        List<Step.Alias> aliases = once ? List.of(new Step.Alias(out, x)) : List.of();
        return new Part(List.of(x), List.of(out, scratch), aliases, binder -> {
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
        });
    }

    private static View sumScratch(Emitter emitter, View x, Reduction reduction, List<Integer> members) {
        long elements = CollectiveScratch.allReduce(x.elements(), x.dtype(), reduction, members.size());
        return emitter.scratch(x.dtype(), elements);
    }

    /** The sums stay where the operands were copied to. */
    private static Part summedTogether(
            Emitter emitter, Node node, List<Integer> pack, List<Integer> members, Reduction reduction) {
        List<View> inputs = pack.stream().map(i -> emitter.input(node, i)).toList();
        List<long[]> sizes = inputs.stream().map(View::sizes).toList();
        View line = emitter.scratch(inputs.get(0).dtype(), Packs.elements(sizes));
        List<View> places = Packs.places(line, sizes);
        for (int i = 0; i < pack.size(); i++) {
            emitter.define(node.ref(pack.get(i)), places.get(i));
        }
        View scratch = sumScratch(emitter, line, reduction, members);
        return new Part(inputs, List.of(line, scratch), List.of(), binder -> {
            Communicator group = binder.group(ranks(emitter, members));
            Runnable copies = Packs.copies(binder, inputs, places);
            NativeBuffer buffer = flat(binder, line);
            NativeBuffer free = flat(binder, scratch);
            return () -> {
                copies.run();
                return group.allReduce(buffer, reduction, free);
            };
        });
    }

    /** {@code [a.., parts * b, c..]} seen as {@code [parts, a.., b, c..]}: blocks in front. */
    static View blocksInFront(Emitter emitter, View view, int dim, long parts) {
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

    static long[] counts(long each, int parts) {
        long[] counts = new long[parts];
        Arrays.fill(counts, each);
        return counts;
    }

    static void allGather(Emitter emitter, Node node) {
        AllGather op = (AllGather) node.op();
        List<Integer> members = members(emitter, op.channel());
        int n = node.inputs().size();
        int skip = op.start() && node.results().size() == 2 * n ? n : 0;
        List<View> inputs = inputs(emitter, node);
        if (skip > 0) {
            passThrough(emitter, node, 0);
        }
        if (members.size() == 1) {
            passThrough(emitter, node, skip);
            return;
        }
        List<Part> parts = new ArrayList<>();
        for (List<Integer> pack : Packs.of(inputs)) {
            if (pack.size() == 1 && rowsBefore(inputs.get(pack.get(0)), op.dimension()) == 1) {
                parts.add(gathered(
                        emitter, node.ref(skip + pack.get(0)), inputs.get(pack.get(0)), members, op.dimension()));
            } else {
                parts.add(gatheredTogether(emitter, node, skip, pack, members, op.dimension()));
            }
        }
        exchange(emitter, parts);
    }

    /** Of how many pieces a block along a dim consists. */
    private static long rowsBefore(View view, int dim) {
        return LongStream.of(view.sizes()).limit(dim).reduce(1, (a, b) -> a * b);
    }

    /** Straight into the result, which the blocks of the members follow each other in. */
    private static Part gathered(Emitter emitter, Node.Ref result, View x, List<Integer> members, int dim) {
        View input = emitter.contiguous(x);
        View lines = emitter.scratch(x.dtype(), members.size(), x.elements());
        View blocks = Packs.places(lines, List.of(x.sizes())).get(0);
        emitter.define(result, blocksInside(emitter, blocks, dim));
        return part(
                emitter,
                members,
                input,
                blocks,
                (group, in, out) -> group.allGather(in, out, counts(in.elements(), members.size())));
    }

    /** In one buffer, from where the blocks are copied to the results when all are there. */
    private static Part gatheredTogether(
            Emitter emitter, Node node, int skip, List<Integer> pack, List<Integer> members, int dim) {
        List<View> inputs = pack.stream().map(i -> emitter.input(node, i)).toList();
        List<long[]> sizes = inputs.stream().map(View::sizes).toList();
        long elements = Packs.elements(sizes);
        // One whose elements are in a row travels from where it lies.
        boolean asItLies = pack.size() == 1 && inputs.get(0).isContiguous();
        View line = asItLies ? inputs.get(0) : emitter.scratch(inputs.get(0).dtype(), elements);
        View lines = emitter.scratch(inputs.get(0).dtype(), members.size(), elements);
        List<View> blocks = new ArrayList<>();
        List<View> writes = new ArrayList<>(asItLies ? List.of(lines) : List.of(line, lines));
        for (int i : pack) {
            View out = emitter.result(node, skip + i);
            writes.add(out);
            blocks.add(blocksInFront(emitter, out, dim, members.size()));
        }
        return new Part(inputs, writes, List.of(), binder -> {
            Communicator group = binder.group(ranks(emitter, members));
            Runnable packing = asItLies ? () -> {} : Packs.copies(binder, inputs, Packs.places(line, sizes));
            Runnable unpacking = Packs.copies(binder, Packs.places(lines, sizes), blocks);
            NativeBuffer in = flat(binder, line);
            NativeBuffer out = flat(binder, lines);
            return () -> {
                packing.run();
                Transfer transfer = group.allGather(in, out, counts(elements, members.size()));
                return () -> {
                    transfer.await();
                    unpacking.run();
                };
            };
        });
    }

    /** {@code [parts, a.., b, c..]} seen as {@code [a.., parts * b, c..]}. */
    static View blocksInside(Emitter emitter, View view, int dim) {
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
    interface Exchange {
        Transfer start(Communicator group, NativeBuffer in, NativeBuffer out);
    }

    static Part part(Emitter emitter, List<Integer> members, View input, View output, Exchange exchange) {
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
        List<View> inputs = inputs(emitter, node);
        if (members.size() == 1) {
            passThrough(emitter, node, 0);
            return;
        }
        List<Part> parts = new ArrayList<>();
        for (List<Integer> pack : Packs.of(inputs)) {
            parts.add(scattered(emitter, node, pack, members, op.dimension(), reduction));
        }
        exchange(emitter, parts);
    }

    private static Part scattered(
            Emitter emitter, Node node, List<Integer> pack, List<Integer> members, int dim, Reduction reduction) {
        int parts = members.size();
        List<View> inputs = pack.stream()
                .map(i -> blocksInFront(emitter, emitter.input(node, i), dim, parts))
                .toList();
        List<long[]> results =
                pack.stream().map(i -> node.results().get(i).dims()).toList();
        long elements = Packs.elements(results);
        DType dtype = inputs.get(0).dtype();
        // One that has its blocks in a row travels from where it lies.
        boolean asItLies = pack.size() == 1 && inputs.get(0).isContiguous();
        View blocks = asItLies ? inputs.get(0) : emitter.scratch(dtype, parts, elements);
        View out = emitter.scratch(dtype, elements);
        View scratch = emitter.scratch(dtype, CollectiveScratch.reduceScatter(elements, parts));
        List<View> places = Packs.places(out, results);
        for (int i = 0; i < pack.size(); i++) {
            emitter.define(node.ref(pack.get(i)), places.get(i));
        }
        List<View> writes = asItLies ? List.of(out, scratch) : List.of(blocks, out, scratch);
        return new Part(inputs, writes, List.of(), binder -> {
            Communicator group = binder.group(ranks(emitter, members));
            Runnable packing = asItLies
                    ? () -> {}
                    : Packs.copies(
                            binder,
                            inputs,
                            Packs.places(
                                    blocks,
                                    inputs.stream().map(Collective::block).toList()));
            NativeBuffer in = flat(binder, blocks);
            NativeBuffer to = flat(binder, out);
            NativeBuffer free = flat(binder, scratch);
            long[] counts = counts(elements, parts);
            return () -> {
                packing.run();
                return group.reduceScatter(in, to, counts, reduction, free);
            };
        });
    }

    /** Sizes of one of the blocks in front. */
    private static long[] block(View blocksInFront) {
        long[] sizes = blocksInFront.sizes();
        return Arrays.copyOfRange(sizes, 1, sizes.length);
    }
}
