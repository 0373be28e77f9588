/** The whole-plan search. */
@NullMarked
package dev.drover.planner.search;

import org.jspecify.annotations.NullMarked;
