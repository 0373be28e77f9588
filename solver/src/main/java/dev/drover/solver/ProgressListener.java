package dev.drover.solver;

/** Told of each better choice and each better bound while the solver works. */
@FunctionalInterface
public interface ProgressListener {
    /** A listener that does nothing. */
    ProgressListener SILENT = improvement -> {};

    /**
     * Called when the best choice or the lower bound got better; from any thread of the solver, never from two at once.
     *
     * @param improvement the state from now on
     */
    void improved(Improvement improvement);
}
