package dev.drover.ir.graph;

/**
 * What an output of a training step is.
 *
 * @param kind its part in the step
 * @param input for {@link Kind#UPDATE}, the input that takes this value at the next step; else -1
 */
public record OutputRole(Kind kind, int input) {

    /** The value that training makes small. */
    public static final OutputRole LOSS = new OutputRole(Kind.LOSS, -1);

    /** A number to look at. */
    public static final OutputRole METRIC = new OutputRole(Kind.METRIC, -1);

    /** The parts that outputs play. */
    public enum Kind {
        UPDATE,
        LOSS,
        METRIC
    }

    public OutputRole {
        if ((kind == Kind.UPDATE) != (input >= 0)) {
            throw new IllegalArgumentException(
                    "The input (" + input + ") of an output must be given if and only if it is an update.");
        }
    }

    /** The next value of an input. */
    public static OutputRole update(int input) {
        return new OutputRole(Kind.UPDATE, input);
    }
}
