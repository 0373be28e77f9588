package dev.drover.plan.mesh;

import dev.drover.plan.Wanted;

/** A named axis of a mesh. */
public record MeshAxis(String name, int size) {
    public MeshAxis {
        Wanted.atLeast("size", size, 1, "mesh axis (" + name + ")");
    }

    @Override
    public String toString() {
        return name + "=" + size;
    }
}
