package dev.drover.ir.eval;

import dev.drover.ir.graph.Computation;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;

/** Evaluates one per-device computation on all devices at once, a thread each; collectives meet in {@link Exchange}. */
public final class SpmdEvaluator {
    private SpmdEvaluator() {}

    /** The value on each device, given each device's arguments. The first failure of a device is thrown. */
    public static List<Value> evaluate(Computation computation, List<List<Value>> argumentsByDevice) {
        int devices = argumentsByDevice.size();
        Exchange exchange = new Exchange(devices);
        ExecutorService threads = Executors.newFixedThreadPool(devices);
        try {
            List<Future<Value>> results = new ArrayList<>();
            for (int device = 0; device < devices; device++) {
                int me = device;
                results.add(threads.submit(() -> {
                    try {
                        return Evaluator.run(computation, argumentsByDevice.get(me), exchange.at(me));
                    } catch (RuntimeException | Error e) {
                        exchange.fail(e);
                        throw e;
                    }
                }));
            }
            List<Value> values = new ArrayList<>();
            for (Future<Value> result : results) {
                values.add(result.get());
            }
            return values;
        } catch (ExecutionException e) {
            throw exchange.failure() instanceof RuntimeException first ? first : new IllegalStateException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        } finally {
            threads.shutdownNow();
        }
    }

    /** Where devices that run the same program meet: round after round, each gives its values and gets those of all. */
    public static final class Exchange {
        private final int devices;
        private List<@Nullable List<Value>> gathering;
        private int arrived;
        private @Nullable Throwable failure;

        public Exchange(int devices) {
            this.devices = devices;
            this.gathering = fresh();
        }

        private List<@Nullable List<Value>> fresh() {
            return new ArrayList<>(Collections.nCopies(devices, null));
        }

        /** The devices as seen from one of them. */
        public Evaluator.Devices at(int device) {
            return new Seat(this, device);
        }

        /** Wakes all who wait: they fail too. */
        public synchronized void fail(Throwable cause) {
            if (failure == null) {
                failure = cause;
            }
            notifyAll();
        }

        /** What failed first, or null. */
        public synchronized @Nullable Throwable failure() {
            return failure;
        }

        private synchronized List<List<Value>> meet(int device, List<Value> mine) {
            List<@Nullable List<Value>> round = gathering;
            round.set(device, mine);
            if (++arrived == devices) {
                arrived = 0;
                gathering = fresh();
                notifyAll();
            }
            while (round == gathering && failure == null) {
                try {
                    wait();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                    throw new IllegalStateException("The devices must not be interrupted in a collective.", e);
                }
            }
            if (failure != null) {
                throw new IllegalStateException("Another device has failed.", failure);
            }
            List<List<Value>> all = new ArrayList<>();
            for (List<Value> values : round) {
                if (values == null) {
                    throw new IllegalStateException("The round must be complete.");
                }
                all.add(values);
            }
            return all;
        }
    }

    private record Seat(Exchange exchange, int device) implements Evaluator.Devices {
        @Override
        public int devices() {
            return exchange.devices;
        }

        @Override
        public List<List<Value>> exchange(List<Value> mine) {
            return exchange.meet(device, mine);
        }
    }
}
