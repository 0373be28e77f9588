/** What the inputs and outputs of a training step are, found from data flow and corrected by a side file. */
@NullMarked
package dev.drover.importers.roles;

import org.jspecify.annotations.NullMarked;
