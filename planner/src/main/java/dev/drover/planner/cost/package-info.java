/** Prices of compute, communication and memory. */
@NullMarked
package dev.drover.planner.cost;

import org.jspecify.annotations.NullMarked;
