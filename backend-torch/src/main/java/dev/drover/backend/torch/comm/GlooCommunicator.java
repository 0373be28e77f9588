package dev.drover.backend.torch.comm;

import dev.drover.ir.ops.Reduction;
import dev.drover.ir.type.DType;
import dev.drover.runtime.comm.Buffer;
import dev.drover.runtime.comm.Communicator;
import dev.drover.runtime.comm.PeerFailure;
import dev.drover.runtime.comm.Transfer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.AllreduceOptions;
import org.bytedeco.pytorch.ProcessGroupGloo;
import org.bytedeco.pytorch.ReduceOp;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.Work;
import org.jspecify.annotations.Nullable;

/**
 * A communicator over a process group of Gloo.
 *
 * <p>Only transfers, the barrier and the sum of large buffers are Gloo's own. Its reduce-scatter takes five times as long as
 * pieces sent straight to their owners, its all-gather twice; its all-reduce of a few bytes sends 36 messages a member; and only
 * with pieces of our own do sums have the order of the members. With {@code n} members:
 *
 * <pre>
 *   all-gather       everyone sends its piece to everyone
 *   reduce-scatter   everyone sends each piece to its owner, who adds them up in the order of the members
 *   all-reduce       small: all-gather, everyone adds up; medium: reduce-scatter, all-gather; large sums: Gloo's ring
 * </pre>
 */
final class GlooCommunicator implements Communicator, AutoCloseable {

    /** Tags of users are below; those of our collectives count upwards from here, so that calls never mix. */
    private static final int FIRST_OWN_TAG = 1 << 30;

    private final List<Integer> ranks;
    private final int self;
    /** Null in a group of one. */
    private final @Nullable ProcessGroupGloo group;

    private int calls;

    GlooCommunicator(List<Integer> ranks, int self, @Nullable ProcessGroupGloo group) {
        this.ranks = List.copyOf(ranks);
        this.self = self;
        this.group = group;
    }

    @Override
    public List<Integer> ranks() {
        return ranks;
    }

    @Override
    public int self() {
        return self;
    }

    // --- collectives ------------------------------------------------------------------------------

    /** Messages under way, what they need until they have ended, and what is to be done then. */
    private static final class Flight implements Transfer {
        private final List<Work> works = new ArrayList<>();
        private final List<Pointer> owned = new ArrayList<>();
        private Runnable afterwards = () -> {};

        <T extends Pointer> T own(T pointer) {
            owned.add(pointer);
            return pointer;
        }

        @Override
        public void await() {
            try {
                works.forEach(GlooCommunicator::waitFor);
                try (PointerScope scope = new PointerScope()) {
                    afterwards.run();
                }
            } finally {
                works.forEach(Work::close);
                owned.forEach(Pointer::close);
            }
        }
    }

    @Override
    public Transfer allReduce(Buffer buffer, Reduction reduction, Buffer scratch) {
        if (size() == 1) {
            return Transfer.DONE;
        }
        checkScratch(scratch, CollectiveScratch.allReduce(buffer.elements(), buffer.dtype(), reduction, size()));
        Tensor tensor = flat(buffer);
        Tensor free = flat(scratch);
        Flight flight = new Flight();
        switch (CollectiveScratch.way(buffer.elements(), buffer.dtype(), reduction, size())) {
            case WHOLE -> reduceWhole(flight, tensor, free, buffer.dtype(), reduction);
            case RING -> {
                try (AllreduceOptions options = sumOptions()) {
                    TensorVector tensors = flight.own(new TensorVector(tensor));
                    flight.works.add(start(() -> group().allreduce(tensors, options)));
                }
            }
            case PIECES -> {
                long[] counts = Communicator.evenCounts(buffer.elements(), size());
                Tensor own = flight.own(piece(tensor, counts, self));
                reducePieces(flight, tensor, own, free, counts, buffer.dtype(), reduction);
                Runnable fold = flight.afterwards;
                int tag = nextTag();
                flight.afterwards = () -> {
                    fold.run();
                    Flight second = new Flight();
                    gather(second, own, tensor, counts, tag);
                    second.await();
                };
            }
        }
        return flight;
    }

    private static AllreduceOptions sumOptions() {
        AllreduceOptions options = new AllreduceOptions();
        options.reduceOp(new ReduceOp(ReduceOp.RedOpType.SUM));
        return options;
    }

    private void reduceWhole(Flight flight, Tensor tensor, Tensor scratch, DType dtype, Reduction reduction) {
        long elements = tensor.numel();
        long[] counts = new long[size()];
        Arrays.fill(counts, elements);
        Tensor all = flight.own(scratch.narrow(0, 0, elements * size()));
        gather(flight, tensor, all, counts, nextTag());
        List<Tensor> parts = new ArrayList<>();
        for (int member = 0; member < size(); member++) {
            parts.add(flight.own(piece(all, counts, member)));
        }
        flight.afterwards = () -> fold(parts, tensor, dtype, reduction);
    }

    @Override
    public Transfer allGather(Buffer input, Buffer output, long[] counts) {
        check("input", input, counts[self]);
        check("output", output, sum(counts));
        Flight flight = new Flight();
        gather(flight, flat(input), flat(output), counts, nextTag());
        return flight;
    }

    /** The input may be its own place in the output. */
    private void gather(Flight flight, Tensor input, Tensor output, long[] counts, int tag) {
        for (int distance = 1; distance < size(); distance++) {
            int from = (self - distance + size()) % size();
            startReceive(flight, flight.own(piece(output, counts, from)), from, tag);
        }
        for (int distance = 1; distance < size(); distance++) {
            startSend(flight, input, (self + distance) % size(), tag);
        }
        copyUnlessSame(input, flight.own(piece(output, counts, self)));
    }

    @Override
    public Transfer reduceScatter(Buffer input, Buffer output, long[] counts, Reduction reduction, Buffer scratch) {
        check("input", input, sum(counts));
        check("output", output, counts[self]);
        checkScratch(scratch, CollectiveScratch.reduceScatter(counts[self], size()));
        Flight flight = new Flight();
        reducePieces(flight, flat(input), flat(output), flat(scratch), counts, input.dtype(), reduction);
        return flight;
    }

    /** The output may be its own place in the input. */
    private void reducePieces(
            Flight flight,
            Tensor input,
            Tensor output,
            Tensor scratch,
            long[] counts,
            DType dtype,
            Reduction reduction) {
        int tag = nextTag();
        long own = counts[self];
        List<Tensor> parts = new ArrayList<>();
        for (int member = 0; member < size(); member++) {
            long place = (member < self ? member : member - 1) * own;
            parts.add(flight.own(member == self ? piece(input, counts, self) : scratch.narrow(0, place, own)));
        }
        for (int distance = 1; distance < size(); distance++) {
            int from = (self - distance + size()) % size();
            startReceive(flight, parts.get(from), from, tag);
        }
        for (int distance = 1; distance < size(); distance++) {
            int to = (self + distance) % size();
            startSend(flight, flight.own(piece(input, counts, to)), to, tag);
        }
        flight.afterwards = () -> fold(parts, output, dtype, reduction);
    }

    /** Combines in the order of the members. The result may be one of the parts: it is written last where that is not the first. */
    private void fold(List<Tensor> parts, Tensor result, DType dtype, Reduction reduction) {
        if (parts.size() == 1) {
            copyUnlessSame(parts.get(0), result);
            return;
        }
        // Left to right in the place of part 0 or 1, whichever is not needed any more, so that the own part survives
        // until its turn.
        Tensor sum = parts.get(self == 0 ? 1 : 0);
        for (int member = 1; member < parts.size(); member++) {
            Tensor left = member == 1 ? parts.get(0) : sum;
            Tensor target = member == parts.size() - 1 ? result : sum;
            Combine.into(target, left, parts.get(member), dtype, reduction);
        }
    }

    @Override
    public Transfer allToAll(Buffer input, Buffer output, long[] inputCounts, long[] outputCounts) {
        check("input", input, sum(inputCounts));
        check("output", output, sum(outputCounts));
        Tensor from = flat(input);
        Tensor to = flat(output);
        Flight flight = new Flight();
        int tag = nextTag();
        for (int distance = 1; distance < size(); distance++) {
            int member = (self - distance + size()) % size();
            startReceive(flight, flight.own(piece(to, outputCounts, member)), member, tag);
        }
        for (int distance = 1; distance < size(); distance++) {
            int member = (self + distance) % size();
            startSend(flight, flight.own(piece(from, inputCounts, member)), member, tag);
        }
        copyUnlessSame(flight.own(piece(from, inputCounts, self)), flight.own(piece(to, outputCounts, self)));
        return flight;
    }

    /** Along a binomial tree: in round r the members at a distance below 2^r from the root send to those 2^r further. */
    @Override
    public void broadcast(Buffer buffer, int root) {
        Tensor tensor = flat(buffer);
        try (PointerScope scope = new PointerScope()) {
            int tag = nextTag();
            int position = (self - root + size()) % size();
            for (int reach = 1; reach < size(); reach *= 2) {
                Flight flight = new Flight();
                if (position < reach && position + reach < size()) {
                    startSend(flight, tensor, (self + reach) % size(), tag);
                } else if (position >= reach && position < 2 * reach) {
                    startReceive(flight, tensor, (self - reach + size()) % size(), tag);
                }
                flight.await();
            }
        }
    }

    @Override
    public void barrier() {
        if (group != null) {
            try (PointerScope scope = new PointerScope()) {
                waitFor(group.barrier());
            }
        }
    }

    // --- transfers --------------------------------------------------------------------------------

    @Override
    public Transfer send(Buffer buffer, int member, int tag) {
        Flight flight = new Flight();
        startSend(flight, flat(buffer), member, tag);
        return flight;
    }

    @Override
    public Transfer receive(Buffer buffer, int member, int tag) {
        Flight flight = new Flight();
        startReceive(flight, flat(buffer), member, tag);
        return flight;
    }

    private void startSend(Flight flight, Tensor tensor, int member, int tag) {
        if (tensor.numel() > 0) {
            TensorVector tensors = flight.own(new TensorVector(tensor));
            flight.works.add(start(() -> group().send(tensors, member, tag)));
        }
    }

    private void startReceive(Flight flight, Tensor tensor, int member, int tag) {
        if (tensor.numel() > 0) {
            TensorVector tensors = flight.own(new TensorVector(tensor));
            flight.works.add(start(() -> group().recv(tensors, member, tag)));
        }
    }

    private interface Start {
        Work run();
    }

    private static Work start(Start start) {
        try {
            return start.run();
        } catch (RuntimeException e) {
            throw failure(e);
        }
    }

    private static void waitFor(Work work) {
        try {
            boolean unused = work._wait();
        } catch (RuntimeException e) {
            throw failure(e);
        }
    }

    private static PeerFailure failure(RuntimeException e) {
        String firstLine = String.valueOf(e.getMessage()).lines().findFirst().orElse("");
        return new PeerFailure(firstLine, e);
    }

    // --- buffers ----------------------------------------------------------------------------------

    private static Tensor flat(Buffer buffer) {
        return ((NativeBuffer) buffer).flat();
    }

    private static void copyUnlessSame(Tensor from, Tensor to) {
        if (to.numel() > 0 && !to.data_ptr().equals(from.data_ptr())) {
            to.copy_(from);
        }
    }

    private static Tensor piece(Tensor flat, long[] counts, int member) {
        long start = 0;
        for (int i = 0; i < member; i++) {
            start += counts[i];
        }
        return flat.narrow(0, start, counts[member]);
    }

    private int nextTag() {
        calls = (calls + 1) & 0xffff;
        return FIRST_OWN_TAG + calls;
    }

    private ProcessGroupGloo group() {
        if (group == null) {
            throw new IllegalStateException("The group (" + ranks + ") must have other members.");
        }
        return group;
    }

    private void check(String name, Buffer buffer, long elements) {
        if (buffer.elements() != elements) {
            throw new IllegalArgumentException("The elements (" + buffer.elements() + ") of the " + name + " of group ("
                    + ranks + ") must be " + elements + ".");
        }
    }

    private static void checkScratch(Buffer scratch, long elements) {
        if (scratch.elements() < elements) {
            throw new IllegalArgumentException("The elements (" + scratch.elements()
                    + ") of the scratch memory must be at least " + elements + ".");
        }
    }

    private static long sum(long[] counts) {
        return Arrays.stream(counts).sum();
    }

    @Override
    public void close() {
        if (group != null) {
            group.close();
        }
    }

    @Override
    public String toString() {
        return "gloo " + ranks;
    }
}
