package dev.drover.ir.eval;

import java.util.List;

/** What an instruction evaluates to. */
public sealed interface Value permits Literal, Value.Tuple, Value.Token {

    /** A tuple of values. */
    record Tuple(List<Value> elements) implements Value {
        public Tuple {
            elements = List.copyOf(elements);
        }
    }

    /** Orders side effects; holds nothing. */
    record Token() implements Value {}

    /** This value as an array. */
    default Literal literal() {
        if (this instanceof Literal literal) {
            return literal;
        }
        throw new IllegalStateException("The value (" + getClass().getSimpleName() + ") must be an array.");
    }
}
