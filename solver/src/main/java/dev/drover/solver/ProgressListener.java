package dev.drover.solver;

/** Told of each better choice and each better bound while the solver works. */
@FunctionalInterface
public interface ProgressListener {
    /** A listener that does nothing. */
    ProgressListener SILENT = improvement -> {};

    /**
     * Called when the best choice or the lower bound got better; from any thread of the solver, never from two at once. It must not throw:
     * that would end the solve with an {@link IllegalStateException}, with what it threw as the cause.
     *
     * @param improvement the state from now on
     */
    void improved(Improvement improvement);
}
