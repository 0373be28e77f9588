package dev.drover.ir.eval;

import dev.drover.ir.graph.Computation;
import java.util.List;

/** What an op may ask while it is evaluated. */
public interface EvalContext {

    /** Argument of the computation that is being evaluated. */
    Value argument(int number);

    /** Evaluates another computation. */
    Value call(Computation computation, List<Value> arguments);

    /** Which device this is, in [0, devices). */
    int device();

    /** How many devices run the same program in step; 1 for a whole program. */
    int devices();

    /**
     * Gives the operands of a collective to all devices and returns those of each, by device. Blocks until all have come; fails
     * if one of them fails first.
     */
    List<List<Value>> exchange(List<Value> mine);
}
