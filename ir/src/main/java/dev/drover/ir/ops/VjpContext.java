package dev.drover.ir.ops;

/** What a gradient rule has at hand. */
public interface VjpContext {

    /** Appends to the computation that is being differentiated. */
    OpBuilder build();
}
