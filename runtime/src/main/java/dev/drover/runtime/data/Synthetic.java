package dev.drover.runtime.data;

import dev.drover.ir.eval.Literal;
import dev.drover.ir.init.Distribution;
import dev.drover.ir.init.InitialValue;
import dev.drover.ir.init.InitialValues;
import dev.drover.ir.init.Slice;
import dev.drover.ir.type.ArrayShape;
import dev.drover.runtime.wire.TensorBytes;

/** Made-up data, for models without a data set and for measuring. */
public final class Synthetic {
    /** Larger data are made as they are sent. */
    static final long MOST_AT_ONCE_BYTES = 64L << 20;

    private Synthetic() {}

    /**
     * Draws from a distribution, anew for each step.
     *
     * @param key tells inputs of one model apart
     */
    public static BatchSource drawn(ArrayShape shape, Distribution distribution, String key, long seed) {
        InitialValue spec = new InitialValue(key, shape, distribution);
        // An element depends on its place in row-major order alone.
        InitialValue flat = new InitialValue(key, ArrayShape.of(shape.dtype(), shape.elements()), distribution);
        long elementBytes = shape.dtype().sizeBytes(1);
        return new BatchSource() {
            @Override
            public Literal batch(long step) {
                return InitialValues.fill(spec, seed * 1_000_003 + step);
            }

            @Override
            public TensorBytes bytes(long step) {
                if (shape.sizeBytes() <= MOST_AT_ONCE_BYTES) {
                    return TensorBytes.of(batch(step));
                }
                return (offset, sizeBytes) -> {
                    Slice part = Slice.of(new long[] {offset / elementBytes}, new long[] {sizeBytes / elementBytes});
                    return TensorBytes.of(InitialValues.fill(flat, seed * 1_000_003 + step, part))
                            .bytes(0, sizeBytes);
                };
            }
        };
    }

    /** The same draw in every step, so that a model can learn it. */
    public static BatchSource drawnOnce(ArrayShape shape, Distribution distribution, String key, long seed) {
        return BatchSource.fixed(InitialValues.fill(new InitialValue(key, shape, distribution), seed));
    }

    /** The class of a feature vector: the position of its largest element, modulo the number of classes. */
    public static BatchSource classesOf(BatchSource features, ArrayShape shape, long classes) {
        return step -> {
            Literal vectors = features.batch(step);
            int width = Math.toIntExact(vectors.size() / shape.elements());
            long[] labels = new long[Math.toIntExact(shape.elements())];
            for (int row = 0; row < labels.length; row++) {
                int best = 0;
                for (int i = 1; i < width; i++) {
                    if (vectors.asDouble(row * width + i) > vectors.asDouble(row * width + best)) {
                        best = i;
                    }
                }
                labels[row] = best % classes;
            }
            return Literal.ofLongs(shape, labels);
        };
    }
}
