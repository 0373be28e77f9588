package dev.drover.runtime.data;

import dev.drover.ir.eval.Literal;
import dev.drover.ir.init.Distribution;
import dev.drover.ir.init.InitialValue;
import dev.drover.ir.init.InitialValues;
import dev.drover.ir.type.ArrayShape;

/** Made-up data, for models without a data set and for measuring. */
public final class Synthetic {
    private Synthetic() {}

    /**
     * Draws from a distribution, anew for each step.
     *
     * @param key tells inputs of one model apart
     */
    public static BatchSource drawn(ArrayShape shape, Distribution distribution, String key, long seed) {
        InitialValue spec = new InitialValue(key, shape, distribution);
        return step -> InitialValues.fill(spec, seed * 1_000_003 + step);
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
