package dev.drover.backend.torch.emit;

import dev.drover.runtime.comm.Communicator;
import dev.drover.runtime.comm.Communicators;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * As which of several devices a program runs.
 *
 * @param device number of this device, as {@code partition-id} gives it
 * @param ranks the global rank of each device
 * @param communicators the way to the other devices; null for a program that runs alone
 */
public record DeviceContext(
        int device, List<Integer> ranks, @Nullable Communicators communicators) {
    /** A program that runs alone. */
    public static final DeviceContext SINGLE = new DeviceContext(0, List.of(0), null);

    public DeviceContext {
        ranks = List.copyOf(ranks);
    }

    public int devices() {
        return ranks.size();
    }

    /** The communicator of these devices, or null if it is this device alone. */
    public @Nullable Communicator group(List<Integer> devices) {
        if (devices.size() == 1) {
            return null;
        }
        Communicators all = communicators;
        if (all == null) {
            throw new IllegalStateException(
                    "The communicators of a program with collectives over devices " + devices + " must be given.");
        }
        List<Integer> members = new ArrayList<>();
        devices.forEach(d -> members.add(ranks.get(d)));
        return all.group(members);
    }
}
