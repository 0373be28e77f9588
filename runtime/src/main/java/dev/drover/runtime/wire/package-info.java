/** The control protocol between coordinator and workers. */
@NullMarked
package dev.drover.runtime.wire;

import org.jspecify.annotations.NullMarked;
