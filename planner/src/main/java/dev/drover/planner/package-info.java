/** Finding a plan. */
@NullMarked
package dev.drover.planner;

import org.jspecify.annotations.NullMarked;
