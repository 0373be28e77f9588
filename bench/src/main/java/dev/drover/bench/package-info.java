/** Benchmarks. */
@NullMarked
package dev.drover.bench;

import org.jspecify.annotations.NullMarked;
