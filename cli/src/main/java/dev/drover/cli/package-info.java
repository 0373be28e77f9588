/** The command line. */
@NullMarked
package dev.drover.cli;

import org.jspecify.annotations.NullMarked;
