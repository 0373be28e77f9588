/** Reading model files and finding the roles of inputs and outputs. */
@NullMarked
package dev.drover.importers;

import org.jspecify.annotations.NullMarked;
