package dev.drover.ir.type;

/** The shape of a value that only orders side effects. */
public record TokenShape() implements Shape {
    public static final TokenShape TOKEN = new TokenShape();

    @Override
    public long sizeBytes() {
        return 0;
    }

    @Override
    public String toString() {
        return "token[]";
    }
}
