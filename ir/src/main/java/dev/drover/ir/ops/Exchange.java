package dev.drover.ir.ops;

/**
 * How parts of a cut factor read what other parts hold. A factor that exchanges spans each dim that it occurs in, whatever the
 * dim's size; several such factors in one dim are alternatives, of which one is cut at most.
 */
public sealed interface Exchange permits Halo, Mirror, PickHalo {

    /** Whether the op's {@code localize} can cut it into this many equal blocks: exactly, and for less than a gather would bring. */
    boolean cutsInto(long parts);
}
