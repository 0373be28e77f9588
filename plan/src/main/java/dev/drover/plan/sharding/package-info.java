/** Shardings, their notations and resharding paths. */
@NullMarked
package dev.drover.plan.sharding;

import org.jspecify.annotations.NullMarked;
