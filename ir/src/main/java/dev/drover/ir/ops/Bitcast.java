package dev.drover.ir.ops;

import java.util.List;

/**
 * The same bytes under other dims. Shapes have no layouts here: both sides are row-major, so this is a reshape. The reader
 * of a file must refuse a bitcast whose layouts say otherwise.
 *
 * @param sizes the result's dims
 */
public record Bitcast(List<Long> sizes) implements RowMajorView {
    static final OpKind KIND =
            new OpKind("bitcast", source -> new Bitcast(Dims.list(source.shape().asArray())));

    public Bitcast {
        sizes = List.copyOf(sizes);
    }

    @Override
    public String opcode() {
        return "bitcast";
    }

    @Override
    public Bitcast withSizes(List<Long> newSizes) {
        return new Bitcast(newSizes);
    }
}
