/** Orders of forward and backward work: one small class each. */
@NullMarked
package dev.drover.plan.schedule;

import org.jspecify.annotations.NullMarked;
