/** HLO text in and out. */
@NullMarked
package dev.drover.ir.text;

import org.jspecify.annotations.NullMarked;
