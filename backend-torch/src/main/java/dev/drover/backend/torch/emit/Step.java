package dev.drover.backend.torch.emit;

import dev.drover.runtime.comm.Transfer;
import java.util.List;
import java.util.function.Supplier;

/**
 * A piece of work at one position of a program.
 *
 * @param name of the instruction, for messages
 * @param position of its reads and writes in the order of execution
 * @param reads and writes what is touched
 * @param aliases writes that may take the memory of a read which dies here
 * @param blocks steps that it runs inside (loop condition and body, branches)
 * @param maker makes the runnable once memory is placed
 */
public record Step(
        String name,
        int position,
        List<View> reads,
        List<View> writes,
        List<Step.Alias> aliases,
        List<Step.Block> blocks,
        Step.Maker maker) {

    boolean touches(Buffer root) {
        return reads.stream().anyMatch(v -> v.buffer().root() == root)
                || writes.stream().anyMatch(v -> v.buffer().root() == root);
    }

    /** A write that may lie where a read lies, element for element. */
    public record Alias(View write, View read) {}

    /** Makes the runnable of a step. */
    @FunctionalInterface
    public interface Maker {
        Runnable bind(Binder binder);
    }

    /** Makes what starts a transfer. */
    @FunctionalInterface
    public interface Exchange {
        Supplier<Transfer> bind(Binder binder);
    }

    /** Steps in order. */
    public record Block(List<Step> steps) {}
}
