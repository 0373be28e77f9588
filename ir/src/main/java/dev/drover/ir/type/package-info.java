@NullMarked
package dev.drover.ir.type;

import org.jspecify.annotations.NullMarked;
