@NullMarked
package dev.drover.ir.ops;

import org.jspecify.annotations.NullMarked;
