package dev.drover.plan.task;

/** Where output {@code output} of the training step, or a slice of it, can be read at the step's end. */
public record Fetch(ValueRef value, int output, TensorSlice slice) {}
