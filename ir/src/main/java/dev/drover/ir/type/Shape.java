package dev.drover.ir.type;

import java.util.ArrayList;
import java.util.List;

/** What an instruction yields: an array, a tuple of shapes, or a token. Layouts are not part of a shape. */
public sealed interface Shape permits ArrayShape, TupleShape, TokenShape {

    /** Bytes of all leaves together. */
    long sizeBytes();

    /** This shape as an array's; fails if it is a tuple or a token. */
    default ArrayShape asArray() {
        if (this instanceof ArrayShape array) {
            return array;
        }
        throw new IllegalArgumentException("The shape (" + this + ") must be an array.");
    }

    /** The array leaves in depth-first order; tokens are left out. */
    default List<ArrayShape> leaves() {
        List<ArrayShape> out = new ArrayList<>();
        collect(this, out);
        return List.copyOf(out);
    }

    private static void collect(Shape shape, List<ArrayShape> out) {
        if (shape instanceof ArrayShape array) {
            out.add(array);
        } else if (shape instanceof TupleShape tuple) {
            for (Shape element : tuple.elements()) {
                collect(element, out);
            }
        }
    }
}
