package dev.drover.planner.cost;

import dev.drover.plan.cluster.Cluster;
import dev.drover.plan.mesh.Mesh;
import dev.drover.plan.sharding.CollectiveCost;
import dev.drover.plan.sharding.CollectiveKind;
import java.util.ArrayList;
import java.util.List;

/** {@link CollectiveTimes} along the axes of a mesh that lies on consecutive devices of a cluster. */
public final class MeshCollectives implements CollectiveCost {
    private final List<CollectiveTimes> timesByAxis = new ArrayList<>();
    private final Roofline roofline;

    /**
     * The times on one mesh.
     *
     * @param firstDevice cluster number of the mesh's device 0
     */
    public MeshCollectives(Cluster cluster, Mesh mesh, int firstDevice) {
        this.roofline = new Roofline(cluster.deviceType(firstDevice), cluster.measured());
        for (int axis = 0; axis < mesh.rank(); axis++) {
            List<List<Integer>> groups = mesh.groups(axis).stream()
                    .map(group -> group.stream()
                            .map(d -> firstDevice + Math.toIntExact(d))
                            .toList())
                    .toList();
            timesByAxis.add(CollectiveTimes.of(cluster, groups));
        }
    }

    @Override
    public double nanos(CollectiveKind kind, int axis, long sizeBytes) {
        return timesByAxis.get(axis).nanos(kind, sizeBytes);
    }

    @Override
    public double localNanos(long sizeBytes) {
        return roofline.work().cutNanos((double) sizeBytes);
    }
}
