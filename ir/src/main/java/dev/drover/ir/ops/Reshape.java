package dev.drover.ir.ops;

import java.util.List;

/**
 * The same elements in row-major order under other dims.
 *
 * @param sizes the result's dims
 */
public record Reshape(List<Long> sizes) implements RowMajorView {
    static final OpKind KIND =
            new OpKind("reshape", source -> new Reshape(Dims.list(source.shape().asArray())));

    public Reshape {
        sizes = List.copyOf(sizes);
    }

    @Override
    public String opcode() {
        return "reshape";
    }

    @Override
    public Reshape withSizes(List<Long> newSizes) {
        return new Reshape(newSizes);
    }
}
