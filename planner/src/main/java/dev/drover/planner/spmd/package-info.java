/** Search for shardings. */
@NullMarked
package dev.drover.planner.spmd;

import org.jspecify.annotations.NullMarked;
