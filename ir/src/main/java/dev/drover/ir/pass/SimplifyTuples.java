package dev.drover.ir.pass;

import dev.drover.ir.graph.Graph;

/** Takes elements of tuples from where they come, and drops tuples that nobody needs. */
public final class SimplifyTuples {
    private SimplifyTuples() {}

    public static Graph run(Graph graph) {
        return new Rewriter().run(graph);
    }
}
