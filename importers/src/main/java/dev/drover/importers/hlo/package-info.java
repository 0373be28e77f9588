/** HLO text files and binary HloModuleProto into Graph. */
@NullMarked
package dev.drover.importers.hlo;

import org.jspecify.annotations.NullMarked;
