package dev.drover.ir.ops;

/**
 * What a collective says about who takes part. Devices are always counted as partitions of one replica, so {@code channelId} and {@code
 * useGlobalDeviceIds}, which in XLA choose between replica and partition numbers, are carried but do not change the groups.
 *
 * @param channelId 0 if there is none
 */
public record Channel(ReplicaGroups groups, long channelId, boolean useGlobalDeviceIds) {

    /** Groups of device numbers, as a lowering makes them. */
    public static Channel of(ReplicaGroups groups, long channelId) {
        return new Channel(groups, channelId, true);
    }

    static Channel parse(OpSource source) {
        return new Channel(
                ReplicaGroups.parse(source),
                source.number("channel_id", 0),
                source.flag("use_global_device_ids", false));
    }

    /** Writes {@code channel_id} and {@code replica_groups}. */
    void print(OpWriter writer) {
        if (channelId != 0) {
            writer.attribute("channel_id", Long.toString(channelId));
        }
        writer.attribute("replica_groups", groups.toString());
    }

    /** Writes {@code use_global_device_ids} if it is set. */
    void printGlobal(OpWriter writer) {
        if (useGlobalDeviceIds) {
            writer.attribute("use_global_device_ids", "true");
        }
    }
}
