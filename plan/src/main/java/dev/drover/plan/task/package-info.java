/** The execution plan: programs per stage and ordered tasks per worker. */
@NullMarked
package dev.drover.plan.task;

import org.jspecify.annotations.NullMarked;
