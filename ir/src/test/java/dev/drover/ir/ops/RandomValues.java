package dev.drover.ir.ops;

import dev.drover.ir.eval.Literal;
import dev.drover.ir.eval.Value;
import dev.drover.ir.type.ArrayShape;
import dev.drover.ir.type.Shape;
import dev.drover.ir.type.TupleShape;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/** Values for properties: floats in (-2, 2) away from 0 and from each other, integers in [-5, 5] or [0, 5], preds. */
final class RandomValues {
    private RandomValues() {}

    static Value of(Shape shape, Random random) {
        if (shape instanceof ArrayShape array) {
            return literal(array, random);
        }
        if (shape instanceof TupleShape tuple) {
            List<Value> elements = new ArrayList<>();
            for (Shape element : tuple.elements()) {
                elements.add(of(element, random));
            }
            return new Value.Tuple(elements);
        }
        return new Value.Token();
    }

    static Literal literal(ArrayShape shape, Random random) {
        Literal out = Literal.zeros(shape);
        double[] doubles = out.doubles();
        for (int i = 0; i < doubles.length; i++) {
            doubles[i] = (0.1 + 1.9 * random.nextDouble()) * (random.nextBoolean() ? 1 : -1);
        }
        long[] longs = out.longs();
        for (int i = 0; i < longs.length; i++) {
            longs[i] = switch (shape.dtype().family()) {
                case PRED -> random.nextInt(2);
                case SIGNED -> random.nextInt(11) - 5;
                default -> random.nextInt(6);
            };
        }
        if (doubles.length > 0) {
            return Literal.ofDoubles(shape, doubles);
        }
        return longs.length > 0 ? Literal.ofLongs(shape, longs) : out;
    }
}
