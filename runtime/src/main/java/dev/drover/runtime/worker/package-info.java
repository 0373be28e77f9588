/** The worker side: one process per device group. */
@NullMarked
package dev.drover.runtime.worker;

import org.jspecify.annotations.NullMarked;
