package dev.drover.plan.sharding;

import dev.drover.ir.ops.Reduction;

/** What one mesh axis does to a tensor. */
public sealed interface AxisState permits AxisState.Replicated, AxisState.Cut, AxisState.Partial {
    Replicated REPLICATED = new Replicated();
    Partial PARTIAL_SUM = new Partial(Reduction.SUM);

    /** Every device along the axis holds the same. */
    record Replicated() implements AxisState {}

    /**
     * Dim {@code dim} is cut: with n devices along the axis, device k holds the units u (of the whole tensor's dim) with {@code
     * u / stride % n == k}. Block sharding has stride = size / n; a smaller stride is Rhino's strided partition (the minor factor
     * of a merged dim is cut).
     */
    record Cut(int dim, long stride) implements AxisState {}

    /** Each device holds a term; the value is their reduction along the axis. */
    record Partial(Reduction reduction) implements AxisState {}
}
