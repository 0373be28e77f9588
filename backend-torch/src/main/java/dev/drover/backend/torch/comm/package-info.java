/** The data plane: process groups of c10d with Gloo, and collectives of our own where those are faster. */
@NullMarked
package dev.drover.backend.torch.comm;

import org.jspecify.annotations.NullMarked;
