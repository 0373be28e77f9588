/** The simulator of execution plans. */
@NullMarked
package dev.drover.plan.sim;

import org.jspecify.annotations.NullMarked;
