package dev.drover.ir.ops;

import java.io.Serial;

/** An attribute that is missing or malformed. The reader adds file, line and column. */
public final class AttributeException extends RuntimeException {
    @Serial
    private static final long serialVersionUID = 1L;

    private final String attribute;

    public AttributeException(String attribute, String message) {
        super(message);
        this.attribute = attribute;
    }

    /** Name of the attribute, or the empty string for the payload. */
    public String attribute() {
        return attribute;
    }
}
