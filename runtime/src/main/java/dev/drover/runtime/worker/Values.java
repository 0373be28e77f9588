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

    /** Where a value lies, and what has to happen before it can be read. */
    static final class Slot {
        private final DeviceTensor tensor;
        private @Nullable Transfer arrival;
        private @Nullable Consumer<DeviceTensor> writer;

        private Slot(DeviceTensor tensor) {
            this.tensor = tensor;
        }

        /** Whatever is there now. */
        DeviceTensor place() {
            return tensor;
        }

        /** The value with its elements; waits for them to arrive. */
        DeviceTensor get() {
            Transfer arriving = arrival;
            if (arriving != null) {
                arrival = null;
                arriving.await();
            }
            Consumer<DeviceTensor> writing = writer;
            if (writing != null) {
                writer = null;
                writing.accept(tensor);
            }
            return tensor;
        }

        void arrives(Transfer transfer) {
            arrival = transfer;
        }

        /** Input data comes into memory when it is first used. */
        void writtenAtFirstUse(Consumer<DeviceTensor> write) {
            writer = write;
        }
    }

    private final WorkerLayout layout;
    private final Device.Arena arena;
    private final Map<Key, Slot> slotByKey = new HashMap<>();

    Values(WorkerLayout layout, Device.Arena arena) {
        this.layout = layout;
        this.arena = arena;
    }

    /** Says that a value exists, before it is used. Later calls are without effect. */
    void declare(ValueRef value, int microBatch, ArrayShape shape) {
        slotByKey.computeIfAbsent(
                Key.of(value, microBatch),
                key -> new Slot(arena.tensor(layout.region(value, microBatch).offsetBytes(), shape)));
    }

    boolean isDeclared(ValueRef value, int microBatch) {
        return slotByKey.containsKey(Key.of(value, microBatch));
    }

    Slot slot(ValueRef value, int microBatch) {
        Slot slot = slotByKey.get(Key.of(value, microBatch));
        if (slot == null) {
            throw new IllegalStateException("The value (" + Key.of(value, microBatch) + ") must be declared.");
        }
        return slot;
    }

    /** Where a value lies, whatever is there now. */
    DeviceTensor place(ValueRef value, int microBatch) {
        return slot(value, microBatch).place();
    }

    @Override
    public void close() {
        slotByKey.values().forEach(slot -> slot.place().close());
        slotByKey.clear();
    }
}
