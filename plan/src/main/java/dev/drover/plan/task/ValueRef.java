package dev.drover.plan.task;

/** A named buffer of a worker: one for the whole step, or one for each micro-batch in flight. */
public record ValueRef(String name, boolean perMicroBatch) {
    /** The {@code s32[]} number of the micro-batch that runs, from 0: an input that any program may have. */
    public static final ValueRef MICRO_BATCH_INDEX = new ValueRef("$microBatch", true);

    @Override
    public String toString() {
        return perMicroBatch ? name + "[m]" : name;
    }
}
