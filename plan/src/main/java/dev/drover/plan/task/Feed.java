package dev.drover.plan.task;

import dev.drover.ir.type.ArrayShape;
import org.jspecify.annotations.Nullable;

/**
 * Where a worker's input value comes from: input {@code input} of the training step, of which the worker holds {@code slice}.
 *
 * @param persistent state that lives on between steps (parameters, optimizer state); otherwise given anew for each step
 * @param microBatchCut for per-micro-batch values, the digit of the whole dim that counts micro-batches ({@code index} is
 *     replaced by the micro-batch's number); null for values given once a step
 */
public record Feed(
        ValueRef value, int input, TensorSlice slice, boolean persistent, TensorSlice.@Nullable Cut microBatchCut) {

    /** The input's name between coordinator and worker, who may take the same data whole and by micro-batches. */
    public String wireName() {
        return (persistent || value.perMicroBatch() ? "input:" : "whole:") + input;
    }

    /** Shape of the worker's value, of one micro-batch where it is cut along time. */
    public ArrayShape shape() {
        return microBatchCut == null ? slice.local() : slice.with(microBatchCut).local();
    }
}
