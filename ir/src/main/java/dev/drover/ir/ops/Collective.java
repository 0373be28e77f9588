package dev.drover.ir.ops;

/** An op by which devices exchange values; its channel says which take part together. */
public interface Collective extends Op {

    /** Who takes part. */
    Channel channel();
}
