/** Support for tests. */
@NullMarked
package dev.drover.testkit;

import org.jspecify.annotations.NullMarked;
