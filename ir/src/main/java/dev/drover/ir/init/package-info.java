/** What inputs hold before the first step: values that are a function of seed, input and element, so that any part can be made anywhere. */
@NullMarked
package dev.drover.ir.init;

import org.jspecify.annotations.NullMarked;
