package dev.drover.plan.cluster;

import dev.drover.ir.Nearest;
import dev.drover.ir.UserError;
import dev.drover.plan.Wanted;
import java.util.ArrayList;
import java.util.List;

/**
 * The devices and how they are joined. Devices are numbered through the hosts in order.
 *
 * @param intraHost between two devices of one host
 * @param interHost between two hosts: one network card each
 * @param measured times of the devices where they were measured, which then count instead of peaks and bandwidths
 */
public record Cluster(
        String name,
        List<DeviceType> deviceTypes,
        List<Hosts> hosts,
        Link intraHost,
        Link interHost,
        Measured measured) {
    /** More are refused: plans for them are none that anybody could run, and the search would not end. */
    public static final int MOST_DEVICES = 65_536;

    public Cluster {
        deviceTypes = List.copyOf(deviceTypes);
        hosts = List.copyOf(hosts);
        if (hosts.isEmpty()) {
            throw new UserError("The number (0) of hosts must be at least 1.");
        }
        List<String> names = deviceTypes.stream().map(DeviceType::name).toList();
        long devices = 0;
        for (Hosts group : hosts) {
            String owner = "hosts (" + group.deviceType() + ")";
            Wanted.atLeast("count", group.count(), 1, owner);
            Wanted.atLeast("devicesPerHost", group.devicesPerHost(), 1, owner);
            devices += (long) group.count() * group.devicesPerHost();
            if (devices > MOST_DEVICES) {
                throw new UserError("The number (" + devices + ") of devices must be at most " + MOST_DEVICES + ".");
            }
            if (!names.contains(group.deviceType())) {
                throw Nearest.error(
                        "The deviceType (" + group.deviceType() + ") of hosts must be one of " + names + ".",
                        group.deviceType(),
                        names,
                        "write %s");
            }
        }
    }

    /** Equal hosts with equal devices. */
    public static Cluster uniform(
            String name, DeviceType device, int hosts, int devicesPerHost, Link intraHost, Link interHost) {
        return new Cluster(
                name,
                List.of(device),
                List.of(new Hosts(device.name(), hosts, devicesPerHost)),
                intraHost,
                interHost,
                Measured.NONE);
    }

    public int devices() {
        return hosts.stream().mapToInt(h -> h.count() * h.devicesPerHost()).sum();
    }

    /** Number of the host that a device is in. */
    public int host(int device) {
        int firstHost = 0;
        int rest = device;
        for (Hosts group : hosts) {
            int size = group.count() * group.devicesPerHost();
            if (rest < size) {
                return firstHost + rest / group.devicesPerHost();
            }
            rest -= size;
            firstHost += group.count();
        }
        throw outOfRange(device);
    }

    /** Type of a device. */
    public DeviceType deviceType(int device) {
        int rest = device;
        for (Hosts group : hosts) {
            int size = group.count() * group.devicesPerHost();
            if (rest < size) {
                return type(group.deviceType());
            }
            rest -= size;
        }
        throw outOfRange(device);
    }

    /** Whether all devices are of one type. */
    public boolean isUniform() {
        return hosts.stream().map(Hosts::deviceType).distinct().count() == 1;
    }

    private DeviceType type(String wanted) {
        for (DeviceType type : deviceTypes) {
            if (type.name().equals(wanted)) {
                return type;
            }
        }
        throw new IllegalStateException("The device type (" + wanted + ") must exist.");
    }

    private IllegalArgumentException outOfRange(int device) {
        return new IllegalArgumentException(
                "The device (" + device + ") of cluster (" + name + ") must be below " + devices() + ".");
    }

    /** The link that joins two different devices. */
    public Link link(int a, int b) {
        return host(a) == host(b) ? intraHost : interHost;
    }

    /** The slowest link within a group of devices: between hosts if the group spans several. */
    public Link slowestLink(List<Integer> devices) {
        for (int device : devices) {
            if (host(device) != host(devices.get(0))) {
                return interHost;
            }
        }
        return intraHost;
    }

    /** The same with every bandwidth between hosts and within them multiplied. */
    public Cluster withBandwidthTimes(double factor) {
        return new Cluster(
                name,
                deviceTypes,
                hosts,
                intraHost.withBytesPerSecond(intraHost.bytesPerSecond() * factor),
                interHost.withBytesPerSecond(interHost.bytesPerSecond() * factor),
                measured);
    }

    /** The same with measured times. */
    public Cluster withMeasured(Measured times) {
        return new Cluster(name, deviceTypes, hosts, intraHost, interHost, times);
    }

    /** The same with this memory per device. */
    public Cluster withMemoryBytes(long bytes) {
        List<DeviceType> types = new ArrayList<>();
        for (DeviceType type : deviceTypes) {
            types.add(type.withMemoryBytes(bytes));
        }
        return new Cluster(name, types, hosts, intraHost, interHost, measured);
    }
}
