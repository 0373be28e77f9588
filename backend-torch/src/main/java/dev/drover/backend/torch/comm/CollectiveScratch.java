package dev.drover.backend.torch.comm;

import dev.drover.backend.torch.Carriers;
import dev.drover.ir.ops.Reduction;
import dev.drover.ir.type.DType;

/** How much memory collectives need beside their buffers, in elements, and thereby how they are done. */
public final class CollectiveScratch {
    /** Up to here one exchange of everything is faster than two of parts. */
    private static final long SMALL_BYTES = 32 << 10;
    /** From here on Gloo's ring, which needs no scratch memory of ours, is faster than ours. */
    private static final long LARGE_BYTES = 16 << 20;

    private CollectiveScratch() {}

    /** How an all-reduce is done. */
    enum Way {
        /** Everyone gets everything and adds up. */
        WHOLE,
        /** Everyone adds up its piece, then pieces are gathered. */
        PIECES,
        /** Gloo's own. */
        RING
    }

    static Way way(long elements, DType dtype, Reduction reduction, int members) {
        long bytes = elements * Carriers.width(dtype);
        if (bytes <= SMALL_BYTES || elements < members) {
            return Way.WHOLE;
        }
        boolean ringSums = reduction == Reduction.SUM
                && (dtype == DType.F32 || dtype == DType.F64 || dtype == DType.S32 || dtype == DType.S64);
        return bytes >= LARGE_BYTES && ringSums ? Way.RING : Way.PIECES;
    }

    /** For an all-reduce of so many elements. */
    public static long allReduce(long elements, DType dtype, Reduction reduction, int members) {
        if (members == 1) {
            return 0;
        }
        return switch (way(elements, dtype, reduction, members)) {
            case WHOLE -> elements * members;
            case PIECES -> reduceScatter((elements + members - 1) / members, members);
            case RING -> 0;
        };
    }

    /** For a reduce-scatter that leaves at most so many elements with each member. */
    public static long reduceScatter(long mostElements, int members) {
        return mostElements * (members - 1);
    }
}
