package dev.drover.testkit;

import dev.drover.ir.UserError;
import dev.drover.ir.type.ArrayShape;
import dev.drover.runtime.comm.Communicators;
import dev.drover.runtime.comm.ConnectOptions;
import dev.drover.runtime.comm.PeerFailure;
import dev.drover.runtime.wire.HostTensor;
import dev.drover.runtime.worker.Backend;
import dev.drover.runtime.worker.StepReport;
import dev.drover.runtime.worker.Worker;
import dev.drover.runtime.worker.WorkerOptions;
import dev.drover.runtime.worker.Workload;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A worker without tensors, whose program is a word that tells how to behave. */
final class PlainWorkerMain {

    private PlainWorkerMain() {}

    public static void main(String[] args) {
        System.out.println("plain worker starts");
        Runtime.getRuntime().halt(Worker.run(WorkerOptions.parse(args, System.getenv()), PlainBackend::new));
    }

    private static final class PlainBackend implements Backend {
        @Override
        public int openRendezvous(String host) {
            return 1;
        }

        @Override
        public Communicators connect(ConnectOptions options) {
            throw new UnsupportedOperationException();
        }

        @Override
        public Workload load(byte[] program, Map<String, String> options, @Nullable Communicators communicators) {
            String word = new String(program, StandardCharsets.UTF_8);
            if (word.equals("wrong")) {
                throw new UserError("The program (wrong) must be right.", "Maybe write another.");
            }
            return new PlainWorkload(word);
        }

        @Override
        public void close() {
            System.out.println("plain backend closed");
        }
    }

    private static final class PlainWorkload implements Workload {
        private final String word;
        private final Map<String, HostTensor> values = new HashMap<>();
        private volatile String task = "";

        PlainWorkload(String word) {
            this.word = word;
        }

        @Override
        public Map<String, String> facts() {
            return Map.of("word", word);
        }

        @Override
        public StepReport run(long step) {
            task = "F" + step;
            try {
                switch (word) {
                    case "fail" -> throw new IllegalStateException("out of paper\nand ink");
                    case "echo" -> throw new PeerFailure("connection closed by peer", new RuntimeException());
                    case "late echo" -> {
                        Thread.sleep(700);
                        throw new PeerFailure("connection closed by peer", new RuntimeException());
                    }
                    case "exit" -> Runtime.getRuntime().halt(9);
                    case "sleep" -> Thread.sleep(60_000);
                    default -> Thread.sleep(1);
                }
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            task = "";
            return new StepReport(step, 5, 0, 6, Map.of("loss", 10.0 - step));
        }

        @Override
        public void put(String name, ArrayShape shape, long offset, ByteBuffer bytes) {
            if (offset == 0) {
                values.put(name, HostTensor.allocate(shape));
            }
            value(name).data().position((int) offset).put(bytes);
        }

        private HostTensor value(String name) {
            @Nullable HostTensor value = values.get(name);
            if (value == null) {
                throw new IllegalArgumentException("no value " + name);
            }
            return value;
        }

        @Override
        public ArrayShape shape(String name) {
            return value(name).shape();
        }

        @Override
        public ByteBuffer fetch(String name, long offset, int sizeBytes) {
            return value(name).data().slice((int) offset, sizeBytes);
        }

        @Override
        public String currentTask() {
            return task;
        }

        @Override
        public void close() {
            System.out.println("plain workload closed");
        }
    }
}
