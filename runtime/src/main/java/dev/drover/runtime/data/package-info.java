/** Input data for training. */
@NullMarked
package dev.drover.runtime.data;

import org.jspecify.annotations.NullMarked;
