/** Tensors in files of the safetensors format. */
@NullMarked
package dev.drover.safetensors;

import org.jspecify.annotations.NullMarked;
