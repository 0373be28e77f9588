package dev.drover.runtime.worker;

import dev.drover.plan.task.ValueRef;
import dev.drover.runtime.comm.Transfer;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The buffers of a worker by value and micro-batch, with the transfers that still need them. Owned by the compute lane. */
final class Values implements AutoCloseable {

    /** One buffer: a value, and for values of micro-batches its number, else -1. */
    private record Key(ValueRef value, int microBatch) {
        static Key of(ValueRef value, int microBatch) {
            return new Key(value, value.perMicroBatch() ? microBatch : -1);
        }

        @Override
        public String toString() {
            return microBatch < 0 ? value.name() : value.name() + ", micro-batch " + microBatch;
        }
    }

    /** A tensor, its arrival, and the sends that read it. Closed when the worker has freed it and the last send is done. */
    static final class Held {
        private final DeviceTensor tensor;
        private @Nullable Transfer arrival;
        private int users = 1;

        Held(DeviceTensor tensor, @Nullable Transfer arrival) {
            this.tensor = tensor;
            this.arrival = arrival;
        }

        /** The tensor with its elements; waits for them to arrive. */
        DeviceTensor tensor() {
            Transfer awaited = arrival;
            if (awaited != null) {
                awaited.await();
                arrival = null;
            }
            return tensor;
        }

        synchronized void retain() {
            users++;
        }

        synchronized boolean isShared() {
            return users > 1;
        }

        void release() {
            synchronized (this) {
                if (--users > 0) {
                    return;
                }
            }
            tensor.close();
        }
    }

    private final Map<Key, Held> heldByKey = new HashMap<>();

    boolean contains(ValueRef value, int microBatch) {
        return heldByKey.containsKey(Key.of(value, microBatch));
    }

    Held get(ValueRef value, int microBatch) {
        return present(heldByKey.get(Key.of(value, microBatch)), value, microBatch);
    }

    /** Takes a value out without freeing it. */
    Held take(ValueRef value, int microBatch) {
        return present(heldByKey.remove(Key.of(value, microBatch)), value, microBatch);
    }

    private static Held present(@Nullable Held held, ValueRef value, int microBatch) {
        if (held == null) {
            throw new IllegalStateException("The value (" + Key.of(value, microBatch) + ") must be there.");
        }
        return held;
    }

    /** Adds a value, freeing what was there. */
    void put(ValueRef value, int microBatch, Held held) {
        @Nullable Held old = heldByKey.put(Key.of(value, microBatch), held);
        if (old != null) {
            old.release();
        }
    }

    void put(ValueRef value, int microBatch, DeviceTensor tensor) {
        put(value, microBatch, new Held(tensor, null));
    }

    /** Frees a value if it is there. */
    void free(ValueRef value, int microBatch) {
        @Nullable Held held = heldByKey.remove(Key.of(value, microBatch));
        if (held != null) {
            held.release();
        }
    }

    @Override
    public void close() {
        heldByKey.values().forEach(Held::release);
        heldByKey.clear();
    }
}
