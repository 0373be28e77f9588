package dev.drover.backend.torch.comm;

import static org.assertj.core.api.Assertions.assertThat;

import dev.drover.backend.torch.LibTorch;
import dev.drover.ir.ops.Reduction;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import dev.drover.runtime.comm.Communicator;
import dev.drover.runtime.comm.Communicators;
import dev.drover.runtime.comm.ConnectOptions;
import dev.drover.runtime.worker.Backend;
import dev.drover.runtime.worker.StepReport;
import dev.drover.runtime.worker.Worker;
import dev.drover.runtime.worker.WorkerOptions;
import dev.drover.runtime.worker.Workload;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.jspecify.annotations.Nullable;

/** A worker whose program is a word that tells what to do with the communicators. */
final class CommWorkerMain {

    private CommWorkerMain() {}

    public static void main(String[] args) {
        Runtime.getRuntime().halt(Worker.run(WorkerOptions.parse(args, System.getenv()), CommBackend::new));
    }

    private static final class CommBackend implements Backend {
        private @Nullable GlooRendezvous rendezvous;

        CommBackend() {
            LibTorch.setThreads(1);
        }

        @Override
        public int openRendezvous(String host) {
            GlooRendezvous opened = new GlooRendezvous(host);
            rendezvous = opened;
            return opened.port();
        }

        @Override
        public Communicators connect(ConnectOptions options) {
            return GlooCommunicators.connect(options);
        }

        @Override
        public Workload load(byte[] program, Map<String, String> options, @Nullable Communicators communicators) {
            if (communicators == null) {
                throw new IllegalStateException("must be connected");
            }
            return new CommWorkload(new String(program, StandardCharsets.UTF_8), communicators);
        }

        @Override
        public void close() {
            if (rendezvous != null) {
                rendezvous.close();
            }
        }
    }

    private static final class CommWorkload implements Workload {
        private final List<String> words;
        private final Communicators communicators;
        private volatile String task = "";

        CommWorkload(String program, Communicators communicators) {
            this.words = List.of(program.split(" "));
            this.communicators = communicators;
        }

        private Communicator communicator() {
            return switch (words.get(0)) {
                case "world" -> communicators.world();
                case "rows" -> communicators.group(communicators.rank() < 2 ? List.of(0, 1) : List.of(2, 3));
                case "crossed" -> communicators.group(communicators.rank() % 2 == 0 ? List.of(2, 0) : List.of(1, 3));
                case "alone" -> communicators.group(List.of(communicators.rank()));
                default -> throw new IllegalStateException(words.get(0));
            };
        }

        @Override
        public StepReport run(long step) {
            long start = System.nanoTime();
            Communicator communicator = communicator();
            switch (words.get(1)) {
                case "cases" -> {
                    for (CollectiveCase one : CollectiveCase.all()) {
                        task = one.toString();
                        one.run(communicator);
                    }
                }
                case "large" -> CollectiveCase.large().run(communicator);
                case "order" -> checkOrder(communicator);
                case "endless" -> endless(communicator);
                case "late" -> {
                    task = "all-reduce";
                    if (communicator.self() == 0) {
                        sleep(60_000);
                    }
                    communicator.barrier();
                }
                default -> throw new IllegalStateException(words.get(1));
            }
            task = "";
            return new StepReport(step, System.nanoTime() - start, 0, 0, Map.of());
        }

        /** Sums of floats that round are made in the order of the members, on every path but the ring. */
        private static void checkOrder(Communicator communicator) {
            for (int elements : new int[] {5, 100_003}) {
                float[] expected = floats(0, elements);
                for (int member = 1; member < communicator.size(); member++) {
                    float[] more = floats(member, elements);
                    for (int i = 0; i < elements; i++) {
                        expected[i] += more[i];
                    }
                }
                try (PointerScope scope = new PointerScope()) {
                    Tensor sum = torch.tensor(floats(communicator.self(), elements));
                    communicator
                            .allReduce(NativeBuffer.of(DType.F32, sum), Reduction.SUM, scratch(communicator, elements))
                            .await();
                    assertThat(sum.equal(torch.tensor(expected))).isTrue();
                }
            }
        }

        private static NativeBuffer scratch(Communicator communicator, long elements) {
            return NativeBuffer.of(
                    DType.F32,
                    torch.empty(CollectiveScratch.allReduce(elements, DType.F32, Reduction.SUM, communicator.size())));
        }

        private static float[] floats(int member, int count) {
            Random random = new Random(member);
            float[] values = new float[count];
            for (int i = 0; i < count; i++) {
                values[i] = (float) random.nextGaussian();
            }
            return values;
        }

        private void endless(Communicator communicator) {
            try (Tensor tensor = torch.ones(new long[] {1 << 20});
                    Tensor free = torch.empty(
                            CollectiveScratch.allReduce(1 << 20, DType.F32, Reduction.SUM, communicator.size()))) {
                for (int i = 0; ; i++) {
                    task = "all-reduce " + i;
                    communicator
                            .allReduce(
                                    NativeBuffer.of(DType.F32, tensor), Reduction.SUM, NativeBuffer.of(DType.F32, free))
                            .await();
                    Tensor unused = tensor.fill_(new Scalar(1f));
                }
            }
        }

        private static void sleep(long millis) {
            try {
                Thread.sleep(millis);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }

        @Override
        public Map<String, String> facts() {
            return Map.of();
        }

        @Override
        public void put(String name, ArrayShape shape, long offset, ByteBuffer bytes) {
            throw new UnsupportedOperationException();
        }

        @Override
        public ArrayShape shape(String name) {
            throw new UnsupportedOperationException();
        }

        @Override
        public ByteBuffer fetch(String name, long offset, int sizeBytes) {
            throw new UnsupportedOperationException();
        }

        @Override
        public String currentTask() {
            return task;
        }

        @Override
        public void close() {}
    }
}
