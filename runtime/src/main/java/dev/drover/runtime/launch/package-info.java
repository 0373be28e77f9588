/** Starting and ending worker processes. */
@NullMarked
package dev.drover.runtime.launch;

import org.jspecify.annotations.NullMarked;
