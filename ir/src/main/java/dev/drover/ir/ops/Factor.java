package dev.drover.ir.ops;

import org.jspecify.annotations.Nullable;

/**
 * One index of an op's loop nest, as in einsum.
 *
 * @param name a short name, unique in its rule
 * @param size its range
 * @param kind how it may be cut
 * @param reduction for {@link Kind#REDUCTION}, how parts are combined; else null
 */
public record Factor(
        String name, long size, Kind kind, @Nullable Reduction reduction) {

    /** How a factor may be cut into equal blocks. */
    public enum Kind {
        /** Cut without communication: each result element needs one index only. */
        FREE,
        /** Missing in the result: a device that holds a part of it makes a partial result. */
        REDUCTION,
        /** Never cut. */
        WHOLE,
        /** Needs a halo of its neighbours (convolution, pooling). */
        WINDOW,
        /** Cut only with communication: indexes move (slice, pad, reverse, concatenate). */
        SHIFT
    }

    public Factor {
        if ((kind == Kind.REDUCTION) != (reduction != null)) {
            throw new IllegalArgumentException(
                    "The reduction (" + reduction + ") of factor (" + name + ") must fit its kind (" + kind + ").");
        }
    }

    /** Whether it can be cut into this many equal blocks by the op's {@code localize}. */
    public boolean cutsInto(long parts) {
        return (kind == Kind.FREE || kind == Kind.REDUCTION) && parts > 0 && size % parts == 0;
    }
}
