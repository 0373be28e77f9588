/** Reverse mode over the graph, and optimizers as graph builders. */
@NullMarked
package dev.drover.ir.grad;

import org.jspecify.annotations.NullMarked;
