package dev.drover.ir.ops;

import dev.drover.ir.graph.Computation;
import java.util.List;
import java.util.stream.Collectors;

/** Takes an op's payload and attributes in the order in which they are printed. */
public interface OpWriter {

    /** The text between the parentheses, for ops without operands ({@code constant}, {@code parameter}). */
    void payload(String text);

    /** {@code name=text}. */
    void attribute(String name, String text);

    /** {@code name=%computation}. */
    void computation(String name, Computation computation);

    /** {@code name={%a, %b}}. */
    void computations(String name, List<Computation> computations);

    /** {@code name={1,2}}. */
    default void numbers(String name, List<? extends Number> numbers) {
        attribute(name, numbers.stream().map(String::valueOf).collect(Collectors.joining(",", "{", "}")));
    }
}
