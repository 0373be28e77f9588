/** What each op does on libtorch: one row of the kernel table per opcode. */
@NullMarked
package dev.drover.backend.torch.kernel;

import org.jspecify.annotations.NullMarked;
