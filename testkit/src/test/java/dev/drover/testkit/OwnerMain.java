package dev.drover.testkit;

import dev.drover.runtime.coordinator.Cluster;
import dev.drover.runtime.coordinator.ClusterOptions;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/** A coordinator that starts two workers, prints their process ids and lets them sleep; to be killed. */
final class OwnerMain {

    private OwnerMain() {}

    public static void main(String[] args) {
        Cluster cluster = Cluster.start(
                ClusterOptions.of(PlainWorkerMain.class.getName()), ProcessCluster.launcher("orphans-" + args[0]), 2);
        cluster.load(rank -> "sleep".getBytes(StandardCharsets.UTF_8), Map.of());
        System.out.println("pids " + cluster.pid(0) + " " + cluster.pid(1));
        cluster.run(0, 1, reports -> {});
    }
}
