/** Graph to graph passes. */
@NullMarked
package dev.drover.ir.pass;

import org.jspecify.annotations.NullMarked;
