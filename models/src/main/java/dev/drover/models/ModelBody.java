package dev.drover.models;

import dev.drover.ir.graph.Instruction;
import java.util.List;

/** The forward function of a model. It must ask for the same parameters each time. */
@FunctionalInterface
interface ModelBody {

    /** Appends the model. */
    Result build(Layers layers, Weights weights, List<Instruction> batch);

    /**
     * What a model yields.
     *
     * @param prediction what it is used for when trained
     * @param loss a scalar
     */
    record Result(Instruction prediction, Instruction loss) {}
}
