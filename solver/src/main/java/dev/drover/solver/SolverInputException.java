package dev.drover.solver;

/**
 * A problem or an option that the user gave is wrong: the message says what, where and what to do; a stack would not help.
 *
 * <p>The command line prints the message alone and ends with exit code 2.
 */
public final class SolverInputException extends IllegalArgumentException {
    /**
     * Makes the exception.
     *
     * @param message what is wrong, in the form "The name (value) of thing (id) must constraint." and a line "Maybe ..."
     */
    public SolverInputException(String message) {
        super(message);
    }
}
