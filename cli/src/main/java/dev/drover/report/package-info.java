/** The self-contained HTML report of a plan. */
@NullMarked
package dev.drover.report;

import org.jspecify.annotations.NullMarked;
