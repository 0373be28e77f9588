/** The worker process on libtorch: the runtime's device and backend. */
@NullMarked
package dev.drover.backend.torch.worker;

import org.jspecify.annotations.NullMarked;
