/** Integer strategy problems and their solution. */
@NullMarked
package dev.drover.solver;

import org.jspecify.annotations.NullMarked;
