package dev.drover.ir.ops;

import dev.drover.ir.eval.Literal;
import dev.drover.ir.type.ArrayShape;
import java.util.List;

/** Cuts literals into equal blocks along a dim and joins them. */
final class Blocks {
    private Blocks() {}

    /** Block {@code index} of {@code parts} along a dim. */
    static Literal block(Literal whole, int dim, int index, int parts) {
        ArrayShape shape = whole.shape();
        long size = shape.dim(dim) / parts;
        Literal out = Literal.zeros(shape.withDim(dim, size));
        int inner = (int) shape.strides()[dim];
        int run = (int) size * inner;
        for (int i = 0; i < out.size(); i++) {
            out.copyElement(whole, i / run * run * parts + index * run + i % run, i);
        }
        return out;
    }

    /** Arrays that differ in no other dim, joined along one. */
    static Literal concatenate(List<Literal> parts, int dim) {
        long size = parts.stream().mapToLong(p -> p.shape().dim(dim)).sum();
        ArrayShape shape = parts.get(0).shape().withDim(dim, size);
        Literal out = Literal.zeros(shape);
        int inner = (int) shape.strides()[dim];
        int row = (int) size * inner;
        int before = 0;
        for (Literal part : parts) {
            int run = (int) part.shape().dim(dim) * inner;
            for (int i = 0; i < part.size(); i++) {
                out.copyElement(part, i, i / run * row + before + i % run);
            }
            before += run;
        }
        return out;
    }
}
