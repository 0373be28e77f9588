package dev.drover.ir.type;

import java.util.List;
import java.util.stream.Collectors;

/** A tuple of shapes, printed {@code (f32[2], s32[])}. */
public record TupleShape(List<Shape> elements) implements Shape {
    public TupleShape {
        elements = List.copyOf(elements);
    }

    @Override
    public long sizeBytes() {
        long sum = 0;
        for (Shape element : elements) {
            sum += element.sizeBytes();
        }
        return sum;
    }

    @Override
    public String toString() {
        return elements.stream().map(Shape::toString).collect(Collectors.joining(", ", "(", ")"));
    }
}
