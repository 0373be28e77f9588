/** HLO text in and out, and the equality of graphs. */
@NullMarked
package dev.drover.ir.text;

import org.jspecify.annotations.NullMarked;
