package dev.drover.backend.torch.emit;

import java.util.List;

/**
 * As which of several devices a program runs.
 *
 * @param device number of this device, as {@code partition-id} gives it
 * @param ranks the global rank of each device
 */
public record DeviceContext(int device, List<Integer> ranks) {
    /** A program that runs alone. */
    public static final DeviceContext SINGLE = new DeviceContext(0, List.of(0));

    public DeviceContext {
        ranks = List.copyOf(ranks);
    }

    public int devices() {
        return ranks.size();
    }

    /** The global ranks of some devices. */
    public List<Integer> ranks(List<Integer> devices) {
        return devices.stream().map(ranks::get).toList();
    }
}
