package dev.drover.ir.ops;

import dev.drover.ir.graph.ComputationBuilder;

/** Short forms for appending common ops; used by gradient rules, optimizers and models. */
public final class OpBuilder {
    private final ComputationBuilder builder;

    public OpBuilder(ComputationBuilder builder) {
        this.builder = builder;
    }

    public ComputationBuilder builder() {
        return builder;
    }
}
