/** A small zoo of models with their training steps. */
@NullMarked
package dev.drover.models;

import org.jspecify.annotations.NullMarked;
