package dev.drover.plan.sim;

/** What device memory is used for. */
public enum MemoryKind {
    /** State that micro-batches use. */
    PARAMETERS,
    /** State that only per-step work uses. */
    OPTIMIZER_STATE,
    /** Accumulated values, and the terms that go there. */
    GRADIENTS,
    /** Values of micro-batches that outlive their program, input data and values made once for all micro-batches. */
    ACTIVATIONS,
    /** Values that live within a program. */
    TEMPORARIES,
    /** Received values. */
    COMMUNICATION;

    String text() {
        return name().toLowerCase(java.util.Locale.ROOT).replace('_', ' ');
    }
}
