package dev.drover.runtime.data;

import dev.drover.ir.eval.Literal;
import dev.drover.runtime.wire.TensorBytes;

/**
 * Data of one batch input. What a step sees depends on the step's number and the source only, so that a run can be repeated, and any
 * number of workers sees what one would.
 */
@FunctionalInterface
public interface BatchSource {

    /** The whole input of step {@code step}, counted from 0. */
    Literal batch(long step);

    /** Its elements; of a source with large ones those that are asked for are made or read then. */
    default TensorBytes bytes(long step) {
        return TensorBytes.of(batch(step));
    }

    /** The same values in every step. */
    static BatchSource fixed(Literal value) {
        return step -> value;
    }

    /** The same values in every step. */
    static BatchSource fixed(GivenValue value) {
        return new BatchSource() {
            @Override
            public Literal batch(long step) {
                return value.literal();
            }

            @Override
            public TensorBytes bytes(long step) {
                return value.bytes();
            }
        };
    }
}
