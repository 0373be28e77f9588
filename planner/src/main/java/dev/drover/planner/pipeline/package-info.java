/** Search for the cut along depth. */
@NullMarked
package dev.drover.planner.pipeline;

import org.jspecify.annotations.NullMarked;
