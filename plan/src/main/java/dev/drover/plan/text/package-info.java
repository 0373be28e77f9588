/** Text forms of plans. */
@NullMarked
package dev.drover.plan.text;

import org.jspecify.annotations.NullMarked;
