package dev.drover.ir.graph;

import java.util.Locale;

/**
 * What an input of a training step is.
 *
 * @param kind its part in the step
 * @param name a name for people, unique among the step's inputs
 */
public record InputRole(Kind kind, String name) {

    /** The parts that inputs play. */
    public enum Kind {
        /** Trained. */
        PARAMETER,
        /** Kept by the optimizer from step to step. */
        OPTIMIZER_STATE,
        /** Data, other at each step. */
        BATCH,
        /** Counts steps. */
        COUNTER,
        /** State of a random number generator. */
        RANDOM_KEY,
        /** Anything else, such as a learning rate that is fed in. */
        OTHER;

        /** As in JSON, {@code optimizer_state}. */
        public String key() {
            return name().toLowerCase(Locale.ROOT);
        }

        /** As in a table, {@code optimizer state}. */
        public String text() {
            return key().replace('_', ' ');
        }
    }
}
