package dev.drover.backend.torch.fuse;

import dev.drover.backend.torch.emit.FlatProgram;

/** All rewrites, in order. */
public final class Rewrites {
    private Rewrites() {}

    public static FlatProgram apply(FlatProgram program) {
        return Chains.apply(program);
    }
}
