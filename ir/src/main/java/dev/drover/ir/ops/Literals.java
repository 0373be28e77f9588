package dev.drover.ir.ops;

import dev.drover.ir.eval.Literal;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.DType;
import java.util.Arrays;

/** Makes literals. */
final class Literals {
    private Literals() {}

    /** The scalar 0. */
    static Literal zero(DType dtype) {
        return Literal.zeros(ArrayShape.scalar(dtype));
    }

    /** A shape filled with a scalar of its type. */
    static Literal filled(ArrayShape shape, Literal scalar) {
        Literal out = Literal.zeros(shape);
        if (shape.dtype().isFloat()) {
            Arrays.fill(out.doubles(), scalar.doubles()[0]);
        } else if (shape.dtype().isComplex()) {
            for (int i = 0; i < out.size(); i++) {
                out.copyElement(scalar, 0, i);
            }
        } else {
            Arrays.fill(out.longs(), scalar.longs()[0]);
        }
        return out;
    }

    /** A copy whose elements may be written. */
    static Literal copy(Literal x) {
        Literal out = Literal.zeros(x.shape());
        System.arraycopy(x.doubles(), 0, out.doubles(), 0, out.doubles().length);
        System.arraycopy(x.longs(), 0, out.longs(), 0, out.longs().length);
        return out;
    }
}
