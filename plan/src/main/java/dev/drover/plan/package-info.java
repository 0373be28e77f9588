/** What was decided about one training step. */
@NullMarked
package dev.drover.plan;

import org.jspecify.annotations.NullMarked;
