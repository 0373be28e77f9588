/** StableHLO text into Graph. */
@NullMarked
package dev.drover.importers.stablehlo;

import org.jspecify.annotations.NullMarked;
