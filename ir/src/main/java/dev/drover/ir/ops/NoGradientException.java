package dev.drover.ir.ops;

import java.io.Serial;

/** An op that has no gradient rule, or none for its attributes. Reverse mode collects these and reports all at once. */
public final class NoGradientException extends IllegalArgumentException {
    @Serial
    private static final long serialVersionUID = 1L;

    public NoGradientException(String message) {
        super(message);
    }
}
