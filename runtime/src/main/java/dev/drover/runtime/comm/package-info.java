/** Communicators and the collectives over them. */
@NullMarked
package dev.drover.runtime.comm;

import org.jspecify.annotations.NullMarked;
