package dev.drover.plan.stage;

/** When in a step an instruction runs. */
public enum Phase {
    /** Once, before the micro-batches: values that depend on no batch data. */
    PRE,
    /** Once per micro-batch, before the turn from the last stage back. */
    FORWARD,
    /** Once per micro-batch, after the turn. */
    BACKWARD,
    /** Once, after all micro-batches: reductions over time, optimizer. */
    POST;

    public boolean perMicroBatch() {
        return this == FORWARD || this == BACKWARD;
    }
}
