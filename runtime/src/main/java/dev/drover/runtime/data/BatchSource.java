package dev.drover.runtime.data;

import dev.drover.ir.eval.Literal;

/**
 * Data of one batch input. What a step sees depends on the step's number and the source only, so that a run can be repeated, and any
 * number of workers sees what one would.
 */
@FunctionalInterface
public interface BatchSource {

    /** The whole input of step {@code step}, counted from 0. */
    Literal batch(long step);

    /** The same values in every step. */
    static BatchSource fixed(Literal value) {
        return step -> value;
    }
}
