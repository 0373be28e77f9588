/** How a plan runs: what coordinator, workers and backends share. */
@NullMarked
package dev.drover.runtime;

import org.jspecify.annotations.NullMarked;
