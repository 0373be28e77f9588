package dev.drover.plan.sim;

import dev.drover.plan.cluster.Cluster;
import dev.drover.plan.cluster.Link;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Transfers that share links. After its latency a transfer flows at the least of what its links give it, each link dividing its
 * bandwidth equally among the transfers on it: a host's network card out and in, a shared inner link, or a device's port out and in.
 */
final class Network {
    private final Cluster cluster;
    private final Map<String, Double> bytesPerNanoByLink = new HashMap<>();
    private final Map<String, Integer> usersByLink = new HashMap<>();
    private final List<Transfer> transfers = new ArrayList<>();
    /** Whether transfers were begun since links were shared among them: many begin at once. */
    private boolean begun;

    private double now;

    Network(Cluster cluster) {
        this.cluster = cluster;
    }

    /** A transfer under way. */
    static final class Transfer {
        final int from;
        final int to;
        final double startNanos;
        private final double flowsFromNanos;
        private final List<String> links;
        private double remainingBytes;
        private double bytesPerNano;

        private Transfer(int from, int to, double startNanos, double flowsFromNanos, List<String> links, long bytes) {
            this.from = from;
            this.to = to;
            this.startNanos = startNanos;
            this.flowsFromNanos = flowsFromNanos;
            this.links = links;
            this.remainingBytes = bytes;
        }

        private boolean flows(double at) {
            return at >= flowsFromNanos;
        }

        private double nextNanos(double at) {
            return flows(at) ? at + Math.max(0, remainingBytes) / bytesPerNano : flowsFromNanos;
        }

        private boolean isDone(double at) {
            return flows(at) && remainingBytes <= 1e-6;
        }
    }

    void start(int from, int to, long bytes, double at) {
        if (at != now) {
            flow(at);
        }
        Link link = cluster.link(from, to);
        boolean inside = cluster.host(from) == cluster.host(to);
        double bytesPerNano = link.bytesPerSecond() / 1e9;
        List<String> links;
        if (inside && link.shared()) {
            links = List.of("bus " + cluster.host(from));
        } else if (inside || !link.shared()) {
            links = List.of("port out " + from, "port in " + to);
        } else {
            links = List.of("card out " + cluster.host(from), "card in " + cluster.host(to));
        }
        for (String name : links) {
            bytesPerNanoByLink.put(name, bytesPerNano);
        }
        transfers.add(new Transfer(from, to, at, at + link.latencyNanos(), links, bytes));
        begun = true;
    }

    /** When something changes next; infinite if nothing is under way. */
    double nextNanos() {
        shareIfBegun();
        double next = Double.POSITIVE_INFINITY;
        for (Transfer transfer : transfers) {
            next = Math.min(next, transfer.nextNanos(now));
        }
        return next;
    }

    /** Moves on to a time not after {@link #nextNanos} and takes out what has arrived. */
    List<Transfer> advance(double at) {
        flow(at);
        List<Transfer> done = new ArrayList<>();
        for (Transfer transfer : transfers) {
            if (transfer.isDone(now)) {
                done.add(transfer);
            }
        }
        transfers.removeIf(transfer -> transfer.isDone(now));
        share();
        return done;
    }

    private void shareIfBegun() {
        if (begun) {
            share();
        }
    }

    private void flow(double at) {
        shareIfBegun();
        for (Transfer transfer : transfers) {
            if (transfer.flows(now)) {
                transfer.remainingBytes -= transfer.bytesPerNano * (at - now);
                if (transfer.remainingBytes / transfer.bytesPerNano < 1e-6 * Math.max(1, at * 1e-9)) {
                    transfer.remainingBytes = 0;
                }
            }
        }
        now = at;
    }

    private void share() {
        begun = false;
        usersByLink.clear();
        for (Transfer transfer : transfers) {
            if (transfer.flows(now)) {
                for (String link : transfer.links) {
                    usersByLink.merge(link, 1, Integer::sum);
                }
            }
        }
        for (Transfer transfer : transfers) {
            double rate = Double.POSITIVE_INFINITY;
            for (String link : transfer.links) {
                rate = Math.min(
                        rate,
                        bytesPerNanoByLink.getOrDefault(link, 1.0) / Math.max(1, usersByLink.getOrDefault(link, 1)));
            }
            transfer.bytesPerNano = rate;
        }
    }
}
