package dev.drover.plan.mesh;

import dev.drover.ir.UserError;

/** A named axis of a mesh. */
public record MeshAxis(String name, int size) {
    public MeshAxis {
        if (size < 1) {
            throw new UserError("The size (" + size + ") of mesh axis (" + name + ") must be at least 1.");
        }
    }

    @Override
    public String toString() {
        return name + "=" + size;
    }
}
