package dev.drover.runtime.worker;

import dev.drover.ir.type.ArrayShape;
import dev.drover.plan.memory.WorkerLayout;
import dev.drover.plan.task.ValueRef;
import dev.drover.runtime.comm.Transfer;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * The values of a worker by name and micro-batch, each at the place that the layout gives it, with the transfers by which they arrive.
 * Owned by the compute lane.
 */
final class Values implements AutoCloseable {

    /** One value, and for values of micro-batches its number, else -1. */
    private record Key(ValueRef value, int microBatch) {
        static Key of(ValueRef value, int microBatch) {
            return new Key(value, value.perMicroBatch() ? microBatch : -1);
        }

        @Override
        public String toString() {
            return microBatch < 0 ? value.name() : value.name() + ", micro-batch " + microBatch;
        }
    }

    private final WorkerLayout layout;
    private final Device.Arena arena;
    private final Map<Key, DeviceTensor> tensorByKey = new HashMap<>();
    private final Map<Key, Transfer> arrivalByKey = new HashMap<>();
    /** Input data that comes into memory when it is first used. */
    private final Map<Key, Consumer<DeviceTensor>> writerByKey = new HashMap<>();

    Values(WorkerLayout layout, Device.Arena arena) {
        this.layout = layout;
        this.arena = arena;
    }

    /** Says that a value exists, before it is used. Later calls are without effect. */
    void declare(ValueRef value, int microBatch, ArrayShape shape) {
        tensorByKey.computeIfAbsent(
                Key.of(value, microBatch),
                key -> arena.tensor(layout.region(value, microBatch).offsetBytes(), shape));
    }

    boolean isDeclared(ValueRef value, int microBatch) {
        return tensorByKey.containsKey(Key.of(value, microBatch));
    }

    /** Where a value lies, whatever is there now. */
    DeviceTensor place(ValueRef value, int microBatch) {
        DeviceTensor tensor = tensorByKey.get(Key.of(value, microBatch));
        if (tensor == null) {
            throw new IllegalStateException("The value (" + Key.of(value, microBatch) + ") must be declared.");
        }
        return tensor;
    }

    /** A value with its elements; waits for them to arrive. */
    DeviceTensor get(ValueRef value, int microBatch) {
        DeviceTensor tensor = place(value, microBatch);
        if (!arrivalByKey.isEmpty() || !writerByKey.isEmpty()) {
            settle(Key.of(value, microBatch), tensor);
        }
        return tensor;
    }

    private void settle(Key key, DeviceTensor tensor) {
        @Nullable Transfer arrival = arrivalByKey.remove(key);
        if (arrival != null) {
            arrival.await();
        }
        @Nullable Consumer<DeviceTensor> writer = writerByKey.remove(key);
        if (writer != null) {
            writer.accept(tensor);
        }
    }

    void arrives(ValueRef value, int microBatch, Transfer arrival) {
        arrivalByKey.put(Key.of(value, microBatch), arrival);
    }

    void writtenAtFirstUse(ValueRef value, int microBatch, Consumer<DeviceTensor> writer) {
        writerByKey.put(Key.of(value, microBatch), writer);
    }

    @Override
    public void close() {
        tensorByKey.values().forEach(DeviceTensor::close);
        tensorByKey.clear();
        arrivalByKey.clear();
        writerByKey.clear();
    }
}
