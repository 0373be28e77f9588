package dev.drover.planner.cost;

import dev.drover.plan.cluster.Cluster;
import dev.drover.plan.cluster.Link;
import dev.drover.plan.cluster.Measured;
import dev.drover.plan.sharding.CollectiveKind;
import java.util.List;
import java.util.TreeMap;

/**
 * Alpha-beta times of collectives that several groups of devices do at the same time (Alpa, section on the communication cost model;
 * ring algorithms), n devices a group, B bytes as in {@link dev.drover.plan.sharding.CollectiveCost}:
 *
 * <pre>
 *   all-reduce              2 (n-1) alpha + 2 (n-1)/n B c / bandwidth
 *   all-gather              (n-1) alpha + (n-1)/n B c / bandwidth
 *   reduce-scatter          (n-1) alpha + (n-1)/n B c / bandwidth
 *   all-to-all              (n-1) alpha + (n-1)/n B c / bandwidth
 *   collective-permute      alpha + B c / bandwidth
 * </pre>
 *
 * @param devices a group
 * @param link the slowest that any group needs
 * @param sharers c: the groups that pass one host's network card at the same time, or the devices of a host if its inner link is
 *     shared
 * @param measured times of all-reduce, from which the others follow, where they were measured (see {@link #measuredNanos})
 */
public record CollectiveTimes(int devices, Link link, int sharers, Measured measured) {

    /** Of these groups of cluster device numbers, which must be of one size. */
    public static CollectiveTimes of(Cluster cluster, List<List<Integer>> groups) {
        boolean between = false;
        TreeMap<Integer, Integer> groupsByHost = new TreeMap<>();
        TreeMap<Integer, Integer> devicesByHost = new TreeMap<>();
        for (List<Integer> group : groups) {
            List<Integer> hosts = group.stream().map(cluster::host).toList();
            between |= hosts.stream().distinct().count() > 1;
            hosts.stream().distinct().forEach(host -> groupsByHost.merge(host, 1, Integer::sum));
            hosts.forEach(host -> devicesByHost.merge(host, 1, Integer::sum));
        }
        Link link = between ? cluster.interHost() : cluster.intraHost();
        TreeMap<Integer, Integer> sharersByHost = between ? groupsByHost : devicesByHost;
        int sharers = link.shared()
                ? sharersByHost.values().stream().max(Integer::compare).orElse(1)
                : 1;
        return new CollectiveTimes(groups.get(0).size(), link, sharers, cluster.measured());
    }

    /** Time in nanoseconds. */
    public double nanos(CollectiveKind kind, long sizeBytes) {
        int n = devices;
        if (n == 1) {
            return 0;
        }
        if (measured.knows(Measured.ALL_REDUCE + n)) {
            return measuredNanos(Measured.ALL_REDUCE + n, kind, sizeBytes);
        }
        double alpha = link.latencyNanos();
        double wholeNanos = sizeBytes * 1e9 * sharers / link.bytesPerSecond();
        double share = (n - 1.0) / n;
        return switch (kind) {
            case ALL_REDUCE -> 2 * (n - 1) * alpha + 2 * share * wholeNanos;
            case ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL -> (n - 1) * alpha + share * wholeNanos;
            case COLLECTIVE_PERMUTE -> alpha + wholeNanos;
        };
    }

    /** What each device takes of its time of computing, in nanoseconds; 0 where that was not measured. */
    public double workNanos(CollectiveKind kind, long sizeBytes) {
        String work = Measured.ALL_REDUCE_WORK + devices;
        return measured.knows(work) ? measuredNanos(work, kind, sizeBytes) : 0;
    }

    /**
     * The runtime exchanges pieces directly: an all-reduce of few bytes is one exchange of everything, one of many is a reduce-scatter and
     * an all-gather, which take half of it each.
     */
    private double measuredNanos(String allReduce, CollectiveKind kind, long sizeBytes) {
        boolean small = sizeBytes <= SMALL_BYTES;
        double whole = measured.nanos(allReduce, (double) sizeBytes);
        double oneExchange = measured.nanos(allReduce, (double) Math.min(sizeBytes, SMALL_BYTES) / devices);
        double half = small ? oneExchange : Math.max(oneExchange, whole / 2);
        return switch (kind) {
            case ALL_REDUCE -> whole;
            case ALL_GATHER, REDUCE_SCATTER, ALL_TO_ALL -> half;
            case COLLECTIVE_PERMUTE -> small ? whole : whole * devices / (2.0 * (devices - 1));
        };
    }

    /** Up to here an all-reduce is one exchange. */
    private static final long SMALL_BYTES = 32 << 10;
}
