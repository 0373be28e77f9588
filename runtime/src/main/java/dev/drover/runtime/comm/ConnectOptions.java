package dev.drover.runtime.comm;

import java.time.Duration;
import java.util.List;

/**
 * What a worker needs to join the data plane.
 *
 * @param rank this worker
 * @param worldSize number of all workers
 * @param host name or address of this worker's network interface that the others reach
 * @param rendezvousHost where the meeting point is
 * @param groups ordered groups of global ranks; those without this worker are ignored. The world needs no entry
 * @param timeout how long a collective or transfer may wait for its peers. Long: the control plane finds dead workers much earlier
 */
public record ConnectOptions(
        int rank,
        int worldSize,
        String host,
        String rendezvousHost,
        int rendezvousPort,
        List<List<Integer>> groups,
        Duration timeout) {
    public ConnectOptions {
        groups = groups.stream().map(List::copyOf).toList();
    }
}
