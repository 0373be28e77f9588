package dev.drover.plan.task;

import dev.drover.ir.ops.Reduction;
import dev.drover.ir.type.ArrayShape;

/** One entry of a worker's ordered list. {@code microBatch} is -1 for work that is done once per step. */
public sealed interface Task {
    int microBatch();

    /** Runs program {@code program} of the execution plan; its inputs stay alive until freed. */
    record Run(int program, int microBatch) implements Task {}

    /** Sends a value to a worker. Between two ranks, sends and receives pair in list order. */
    record Send(ValueRef value, ArrayShape shape, int microBatch, int toRank) implements Task {}

    /** Receives a value from a worker into a new buffer. */
    record Receive(ValueRef value, ArrayShape shape, int microBatch, int fromRank) implements Task {}

    /**
     * Combines micro-batch {@code microBatch}'s {@code from} into the per-step value {@code into} (the first one moves) and frees
     * it.
     */
    record Accumulate(ValueRef from, int microBatch, ValueRef into, Reduction reduction) implements Task {}

    /**
     * Puts micro-batch {@code microBatch}'s {@code from} in its place in the per-step value {@code into}, of shape {@code
     * wholeShape}: the units u of {@code dim} with {@code u / stride % parts == microBatch}; and frees it.
     */
    record Stack(ValueRef from, int microBatch, ValueRef into, ArrayShape wholeShape, int dim, long stride, int parts)
            implements Task {}

    /** Frees a buffer. */
    record Free(ValueRef value, int microBatch) implements Task {}

    /** At the step's end: a state value takes the place of the old one. */
    record Update(ValueRef from, ValueRef state) implements Task {
        @Override
        public int microBatch() {
            return -1;
        }
    }
}
