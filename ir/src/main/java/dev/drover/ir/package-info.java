@NullMarked
package dev.drover.ir;

import org.jspecify.annotations.NullMarked;
