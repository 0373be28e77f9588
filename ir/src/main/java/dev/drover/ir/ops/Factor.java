package dev.drover.ir.ops;

import org.jspecify.annotations.Nullable;

/**
 * One index of an op's loop nest, as in einsum.
 *
 * @param name a short name, unique in its rule
 * @param size its range
 * @param kind how it may be cut
 * @param reduction how parts are combined where the result lacks it, or null: always for {@link Kind#REDUCTION}
 * @param exchange how parts read what others hold, or null if the op cannot be cut so
 * @param padsWithZeros whether operands with zeros after their end along it make the same result, with more after its end; then it is alone
 *     in its dims, and {@code localize} does not depend on its size
 */
public record Factor(
        String name,
        long size,
        Kind kind,
        @Nullable Reduction reduction,
        @Nullable Exchange exchange,
        boolean padsWithZeros) {

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
        boolean mayReduce = kind == Kind.REDUCTION || (kind == Kind.WINDOW && exchange != null);
        boolean mayExchange = kind == Kind.WINDOW || kind == Kind.SHIFT;
        if ((kind == Kind.REDUCTION && reduction == null)
                || (reduction != null && !mayReduce)
                || (exchange != null && !mayExchange)) {
            throw new IllegalArgumentException("The reduction (" + reduction + ") and exchange (" + exchange
                    + ") of factor (" + name + ") must fit its kind (" + kind + ").");
        }
    }

    /** Whether it spans each dim that it occurs in, whatever the dim's size. */
    public boolean spansDims() {
        return exchange != null;
    }

    /** Whether blocks that are not equal can be made so by zeros, each of more than one element but the last. */
    public boolean padsInto(long parts) {
        return padsWithZeros && parts > 1 && size > parts && size % parts != 0;
    }

    /** Whether it can be cut into this many equal blocks among devices, which may exchange what each needs of the others. */
    public boolean cutsAmongDevices(long parts) {
        return cutsInto(parts) || (exchange != null && exchange.cutsInto(parts));
    }

    /** Whether it can be cut into this many equal blocks by the op's {@code localize} without communication. */
    public boolean cutsInto(long parts) {
        return (kind == Kind.FREE || kind == Kind.REDUCTION) && parts > 0 && size % parts == 0;
    }
}
