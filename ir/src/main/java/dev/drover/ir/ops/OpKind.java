package dev.drover.ir.ops;

/** An opcode and how its ops are made from text: one row of {@link Ops#ALL}. */
public record OpKind(String opcode, Factory factory) {

    /** Makes an op from what a file says. Fails with {@link AttributeException}. */
    @FunctionalInterface
    public interface Factory {
        Op make(OpSource source);
    }
}
