package dev.drover.backend.torch.comm;

import dev.drover.ir.type.DType;
import dev.drover.runtime.comm.Communicator;
import dev.drover.runtime.comm.Communicators;
import dev.drover.runtime.comm.ConnectOptions;
import dev.drover.runtime.comm.PeerFailure;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.javacpp.chrono.Milliseconds;
import org.bytedeco.pytorch.ProcessGroupGloo;
import org.bytedeco.pytorch.Store;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.gloo.Device;
import org.jspecify.annotations.Nullable;

/** All process groups of a worker. */
public final class GlooCommunicators implements Communicators {

    /** Of each group, for the library's own collectives; transfers use the device's. */
    private static final int THREADS = 1;

    private final ConnectOptions options;
    /** One for all groups, since each has a thread of its own. */
    private final Device device;

    private final int rank;
    private final Store store;
    private final GlooCommunicator world;
    private final Map<List<Integer>, GlooCommunicator> communicatorByRanks = new LinkedHashMap<>();

    private GlooCommunicators(ConnectOptions options, Store store) {
        this.options = options;
        this.rank = options.rank();
        // Without a device Gloo takes whatever the machine's own name resolves to.
        this.device = LoopThread.withBatchPolicy(() -> ProcessGroupGloo.createDeviceForHostname(options.host()));
        this.store = store;
        List<Integer> all = IntStream.range(0, options.worldSize()).boxed().toList();
        this.world = make(options, all);
        communicatorByRanks.put(all, world);
    }

    @Override
    public void add(List<List<Integer>> groups) {
        List<GlooCommunicator> made = new ArrayList<>();
        // The same order everywhere, so that two groups with two common members do not wait for each other.
        for (List<Integer> ranks : groups) {
            if (ranks.contains(rank) && !communicatorByRanks.containsKey(ranks)) {
                GlooCommunicator communicator = make(options, ranks);
                communicatorByRanks.put(List.copyOf(ranks), communicator);
                made.add(communicator);
            }
        }
        made.forEach(GlooCommunicators::check);
    }

    /** Makes and checks all groups, while all other workers do the same. */
    public static GlooCommunicators connect(ConnectOptions options) {
        Rendezvous.load();
        try {
            Store store = Rendezvous.connect(
                    options.rendezvousHost(),
                    options.rendezvousPort(),
                    options.timeout().toMillis());
            GlooCommunicators made = new GlooCommunicators(options, store);
            check(made.world);
            made.add(options.groups());
            return made;
        } catch (PeerFailure e) {
            throw e;
        } catch (RuntimeException e) {
            throw new PeerFailure(
                    String.valueOf(e.getMessage()).lines().findFirst().orElse(""), e);
        }
    }

    private GlooCommunicator make(ConnectOptions options, List<Integer> ranks) {
        int self = ranks.indexOf(rank);
        return new GlooCommunicator(ranks, self, ranks.size() == 1 ? null : group(options, ranks, self));
    }

    private ProcessGroupGloo group(ConnectOptions options, List<Integer> ranks, int self) {
        ProcessGroupGloo.Options glooOptions = ProcessGroupGloo.Options.create(
                new Milliseconds(options.timeout().toMillis()));
        glooOptions.devices().push_back(device);
        glooOptions.threads(THREADS);
        Store prefixed = Rendezvous.prefixed(ranks.toString(), store);
        return new ProcessGroupGloo(prefixed, self, ranks.size(), glooOptions);
    }

    /** Everyone tells its rank to everyone: finds wrong wiring before the first step, and opens lazily made connections. */
    private static void check(GlooCommunicator communicator) {
        int size = communicator.size();
        try (PointerScope scope = new PointerScope()) {
            Tensor own = torch.tensor(new long[] {communicator.ranks().get(communicator.self())});
            Tensor all = torch.tensor(new long[size]);
            communicator
                    .allGather(
                            NativeBuffer.of(DType.S64, own),
                            NativeBuffer.of(DType.S64, all),
                            Communicator.evenCounts(size, size))
                    .await();
            List<Integer> heard = new ArrayList<>();
            for (int i = 0; i < size; i++) {
                heard.add((int) all.select(0, i).item_long());
            }
            if (!heard.equals(communicator.ranks())) {
                throw new IllegalStateException(
                        "The ranks (" + heard + ") of a group must be " + communicator.ranks() + ".");
            }
        }
    }

    @Override
    public int rank() {
        return rank;
    }

    @Override
    public Communicator world() {
        return world;
    }

    @Override
    public Communicator group(List<Integer> ranks) {
        @Nullable Communicator communicator = communicatorByRanks.get(ranks);
        if (communicator == null) {
            throw new IllegalArgumentException("The group (" + ranks + ") of rank (" + rank + ") must be one of "
                    + communicatorByRanks.keySet() + ".");
        }
        return communicator;
    }

    @Override
    public void close() {
        communicatorByRanks.values().forEach(GlooCommunicator::close);
        communicatorByRanks.clear();
        store.close();
    }
}
