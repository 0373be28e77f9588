/** From plan to execution plan. */
@NullMarked
package dev.drover.plan.lower;

import org.jspecify.annotations.NullMarked;
