package dev.drover.ir.ops;

/**
 * How a window reads a dim of {@code inputs} elements when {@code count} units that move over it (outputs, or window elements) are cut
 * into n blocks. Unit u reads the dilated positions from {@code u * pitch - padLow} to {@code rest - 1} further, where input
 * element i lies at {@code i * baseDilation}. With B = count / n units in a block, part k needs the input elements
 *
 * <pre>
 *   k * step + first  ..  k * step + last        step  = B * pitch / baseDilation   (must be whole)
 *                                                first = ceil(-padLow / baseDilation)
 *                                                last  = floor(((B - 1) * pitch + rest - 1 - padLow) / baseDilation)
 *
 *   holds     |. . . .|A A A A|B B B B|. . . .|      window of 3, stride 1, padding 1: one element from each side
 *   needs           |a A A A A b|
 * </pre>
 *
 * and reads them through a window whose padding is the same on every part. Elements outside the dim stand for padding.
 *
 * @param ofTaps whether the units are window elements: then parts make terms of a sum
 */
record Halo(long inputs, long baseDilation, long padLow, long count, long pitch, long rest, boolean ofTaps)
        implements Exchange {

    /** Of the outputs of a window. */
    static Halo ofOutputs(Window.Dim window, long inputs, long outputs) {
        return new Halo(
                inputs, window.baseDilation(), window.padLow(), outputs, window.stride(), window.extent(), false);
    }

    /** Of the elements of a window that is not reversed. */
    static Halo ofTaps(Window.Dim window, long inputs, long outputs) {
        return new Halo(
                inputs,
                window.baseDilation(),
                window.padLow(),
                window.size(),
                window.windowDilation(),
                (outputs - 1) * window.stride() + 1,
                true);
    }

    @Override
    public boolean cutsInto(long parts) {
        return parts > 1
                && inputs > 0
                && count > 0
                && inputs % parts == 0
                && count % parts == 0
                && count / parts * pitch % baseDilation == 0
                && needed(parts) > 0
                && before(parts) + after(parts) <= (parts - 1) * block(parts);
    }

    /** Input elements that a part holds. */
    long block(long parts) {
        return inputs / parts;
    }

    /** Input elements from the first that a part needs to the first that the next needs. */
    long step(long parts) {
        return count / parts * pitch / baseDilation;
    }

    long first() {
        return -Math.floorDiv(padLow, baseDilation);
    }

    private long last(long parts) {
        return Math.floorDiv(span(parts) - 1 - padLow, baseDilation);
    }

    /** Dilated positions that a block of units reads. */
    private long span(long parts) {
        return (count / parts - 1) * pitch + rest;
    }

    /** Input elements that a part needs. */
    long needed(long parts) {
        return last(parts) - first() + 1;
    }

    /** Input elements before its block that some part needs. */
    long before(long parts) {
        long drift = (parts - 1) * (block(parts) - step(parts));
        return Math.max(0, Math.max(0, drift) - first());
    }

    /** Input elements after its block that some part needs. */
    long after(long parts) {
        long drift = (parts - 1) * (step(parts) - block(parts));
        return Math.max(0, Math.max(0, drift) + last(parts) - (block(parts) - 1));
    }

    /** Whether some part needs elements outside the dim. */
    boolean leaves(long parts) {
        return first() < 0 || (parts - 1) * step(parts) + last(parts) >= inputs;
    }

    /** The window by which a part reads the elements that it needs. */
    Window.Dim window(Window.Dim whole, long parts) {
        long low = padLow + first() * baseDilation;
        long high = span(parts) - low - ((needed(parts) - 1) * baseDilation + 1);
        return new Window.Dim(
                ofTaps ? whole.size() / parts : whole.size(),
                whole.stride(),
                low,
                high,
                whole.baseDilation(),
                whole.windowDilation(),
                whole.reversed());
    }
}
