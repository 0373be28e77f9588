package dev.drover.plan.mesh;

import dev.drover.ir.UserError;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Devices of one stage, arranged along named axes. Device numbers run from 0, the last axis fastest. A mesh without axes is
 * one device.
 */
public record Mesh(List<MeshAxis> axes) {
    public Mesh {
        axes = List.copyOf(axes);
        long devices = 1;
        Set<String> names = new HashSet<>();
        for (MeshAxis axis : axes) {
            devices = Math.min(devices * axis.size(), Integer.MAX_VALUE + 1L);
            if (axis.name().isBlank() || !names.add(axis.name())) {
                throw new UserError(
                        "The name (" + axis.name() + ") of a mesh axis must be there, and differ from others.");
            }
        }
        if (devices > Integer.MAX_VALUE) {
            throw new UserError("The devices of mesh (" + axes + ") must be at most " + Integer.MAX_VALUE + ".");
        }
    }

    /** A mesh with axes named {@code x, y, z, ..} of these sizes. */
    public static Mesh of(int... sizes) {
        List<MeshAxis> axes = new ArrayList<>();
        for (int i = 0; i < sizes.length; i++) {
            axes.add(new MeshAxis(String.valueOf((char) ('x' + i)), sizes[i]));
        }
        return new Mesh(axes);
    }

    public int devices() {
        int product = 1;
        for (MeshAxis axis : axes) {
            product *= axis.size();
        }
        return product;
    }

    public int rank() {
        return axes.size();
    }

    public int size(int axis) {
        return axes.get(axis).size();
    }

    /** How far apart in device numbers neighbours along an axis are. */
    public int deviceStride(int axis) {
        int stride = 1;
        for (int i = axis + 1; i < axes.size(); i++) {
            stride *= axes.get(i).size();
        }
        return stride;
    }

    /** A device's position along an axis. */
    public int coordinate(int device, int axis) {
        return device / deviceStride(axis) % size(axis);
    }

    /** The device groups that differ only along {@code axis}, each in order of the coordinate. */
    public List<List<Long>> groups(int axis) {
        List<List<Long>> groups = new ArrayList<>();
        int stride = deviceStride(axis);
        for (int device = 0; device < devices(); device++) {
            if (coordinate(device, axis) == 0) {
                List<Long> group = new ArrayList<>();
                for (int i = 0; i < size(axis); i++) {
                    group.add((long) device + (long) i * stride);
                }
                groups.add(group);
            }
        }
        return groups;
    }

    /** The sizes of the axes, {@code 2x4}; {@code 1} for one device. */
    @Override
    public String toString() {
        return axes.isEmpty()
                ? "1"
                : axes.stream().map(axis -> String.valueOf(axis.size())).collect(Collectors.joining("x"));
    }
}
