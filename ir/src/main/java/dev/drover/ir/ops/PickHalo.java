package dev.drover.ir.ops;

/**
 * How a part of select-and-scatter's array makes its block of the result: it needs the source elements whose windows meet the
 * block, and all array elements under these windows. Windows without dilation only, each of which must see a real element; halos
 * come from the next neighbours only.
 *
 * <pre>
 *   source    s s|s s|s s        window of 3, stride 2: a block of 4 elements meets the windows of the block's own two sources and,
 *   array   a a a a|a a a a|     with padding, the one before
 * </pre>
 */
record PickHalo(Window.Dim window, long array, long sources) implements Exchange {

    @Override
    public boolean cutsInto(long parts) {
        if (array == 0 || sources == 0 || window.baseDilation() != 1 || window.windowDilation() != 1) {
            return false;
        }
        boolean seen = window.size() - 1 - window.padLow() >= 0
                && (sources - 1) * window.stride() - window.padLow() <= array - 1;
        if (!seen || !ofSources().cutsInto(parts) || array % parts != 0) {
            return false;
        }
        Halo ofArray = ofArray(parts);
        return ofArray.cutsInto(parts)
                && ofArray.step(parts) == ofArray.block(parts)
                && Math.max(ofArray.before(parts), ofArray.after(parts)) <= ofArray.block(parts);
    }

    /** Which source elements a block of the array meets. */
    Halo ofSources() {
        return Halo.ofOutputs(window.transposed(array, sources), sources, array);
    }

    /** Which array elements these source elements see. */
    Halo ofArray(long parts) {
        Halo source = ofSources();
        return new Halo(
                array,
                1,
                window.padLow() - source.first() * window.stride(),
                parts,
                array / parts,
                (source.needed(parts) - 1) * window.stride() + window.size(),
                false);
    }

    /** The window over a part's extended array. */
    Window.Dim local() {
        return new Window.Dim(window.size(), window.stride(), 0, 0);
    }
}
