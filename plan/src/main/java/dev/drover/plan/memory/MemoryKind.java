package dev.drover.plan.memory;

/** What device memory is used for. */
public enum MemoryKind {
    /** State that micro-batches use. */
    PARAMETERS,
    /** State that only per-step work uses. */
    OPTIMIZER_STATE,
    /** Input data. */
    BATCH,
    /** Accumulated values, and the terms that go there. */
    GRADIENTS,
    /** Values of micro-batches that outlive their program, and values made once for all micro-batches. */
    ACTIVATIONS,
    /** Values that live within a program, and the scratch of its collectives. */
    TEMPORARIES,
    /** Received values. */
    COMMUNICATION,
    /** Outputs of the step that are kept until they have been read. */
    RESULTS,
    /** Constants of programs, written once. */
    CONSTANTS,
    /** Allocated, but with nothing in it at the peak: what is lost between values of different sizes. */
    UNUSED;

    /** In plans and JSON. */
    public String key() {
        return name().toLowerCase(java.util.Locale.ROOT);
    }

    /** For people. */
    public String text() {
        return key().replace('_', ' ');
    }
}
