/** Tensors in files of the safetensors format. */
@NullMarked
package dev.drover.importers.safetensors;

import org.jspecify.annotations.NullMarked;
