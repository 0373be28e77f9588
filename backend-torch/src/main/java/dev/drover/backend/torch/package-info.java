/** Kernels and process groups of libtorch. */
@NullMarked
package dev.drover.backend.torch;

import org.jspecify.annotations.NullMarked;
