/** Checkpoints: safetensors files plus an index. */
@NullMarked
package dev.drover.runtime.checkpoint;

import org.jspecify.annotations.NullMarked;
