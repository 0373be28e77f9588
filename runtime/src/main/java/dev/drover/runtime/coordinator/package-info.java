/** The coordinator: one per run, speaks to all workers. */
@NullMarked
package dev.drover.runtime.coordinator;

import org.jspecify.annotations.NullMarked;
