/** Which bytes a worker allocates: read by the simulator before a run and by the runtime when it loads. */
@NullMarked
package dev.drover.plan.memory;

import org.jspecify.annotations.NullMarked;
