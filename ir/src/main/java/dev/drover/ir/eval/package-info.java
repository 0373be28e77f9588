@NullMarked
package dev.drover.ir.eval;

import org.jspecify.annotations.NullMarked;
