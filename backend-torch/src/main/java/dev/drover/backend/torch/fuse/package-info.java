/** Patterns of ops that have one kernel. */
@NullMarked
package dev.drover.backend.torch.fuse;

import org.jspecify.annotations.NullMarked;
