package dev.drover.models;

import dev.drover.ir.type.ArrayShape;

/**
 * What a batch input of a model wants to be fed. The leading dim is the batch.
 *
 * @param name the input's name, as in its role
 * @param shape of the whole batch
 * @param kind where its elements come from
 * @param limit for {@link Kind#TOKENS}, {@link Kind#NEXT_TOKENS} and {@link Kind#CLASSES}: they lie in [0, limit); else 0
 */
public record BatchInput(String name, ArrayShape shape, Kind kind, long limit) {

    /** Sources of data. */
    public enum Kind {
        /** {@code s32[batch,seq]}: consecutive tokens of a text, each row a window. */
        TOKENS,
        /** {@code s32[batch,seq]}: the same windows, one token later. */
        NEXT_TOKENS,
        /** {@code [batch,channels,height,width]}: images, elements about in [-1, 1]. */
        IMAGES,
        /** Standard normal numbers, new at each step. */
        NORMAL_NOISE,
        /** Numbers uniform over [0, 1), new at each step. */
        UNIFORM,
        /** {@code [batch,features]}: vectors of about unit variance in each element. */
        FEATURES,
        /** {@code s32[batch]}: the class of each feature vector. */
        CLASSES
    }
}
