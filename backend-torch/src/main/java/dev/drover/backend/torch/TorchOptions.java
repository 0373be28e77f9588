package dev.drover.backend.torch;

import dev.drover.backend.torch.emit.DeviceContext;
import dev.drover.runtime.comm.Communicators;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * How a program is compiled.
 *
 * @param memory where pool, constants and outputs come from
 * @param donations by output leaf (depth-first in the root) the input leaf whose tensor the caller gives up: the output takes
 *     its memory where nothing forbids it, and the tensor is closed in any case
 * @param context as which of several devices it runs
 * @param communicators the way to the other devices; null for a program that runs alone
 * @param fuse whether patterns of ops are replaced by fused kernels
 */
public record TorchOptions(
        TorchMemory memory,
        Map<Integer, Integer> donations,
        DeviceContext context,
        @Nullable Communicators communicators,
        boolean fuse) {
    public TorchOptions {
        donations = Map.copyOf(donations);
    }

    public static TorchOptions of(TorchMemory memory) {
        return new TorchOptions(memory, Map.of(), DeviceContext.SINGLE, null, true);
    }

    public TorchOptions withDonations(Map<Integer, Integer> inputByOutput) {
        return new TorchOptions(memory, inputByOutput, context, communicators, fuse);
    }

    public TorchOptions withFuse(boolean on) {
        return new TorchOptions(memory, donations, context, communicators, on);
    }
}
