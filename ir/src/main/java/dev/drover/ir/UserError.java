package dev.drover.ir;

import java.io.Serial;

/**
 * A mistake of the user's: in a model, a configuration, a cluster, a plan or on the command line. It is printed without a
 * stack and ends the command with exit code 2.
 *
 * <p>Wording: "The &lt;name&gt; (&lt;value&gt;) of &lt;thing&gt; (&lt;id&gt;) must &lt;constraint&gt;." and, where advice
 * is possible, a second line "Maybe &lt;what to do&gt;."
 */
public final class UserError extends RuntimeException {
    @Serial
    private static final long serialVersionUID = 1L;

    public UserError(String message) {
        super(message);
    }

    public UserError(String message, String maybe) {
        super(message + "\n" + maybe);
    }

    public UserError(String message, Throwable cause) {
        super(message, cause);
    }
}
