/**
 * Functions from graph to graph that keep the meaning. They may ask which op an instruction does where it is about the structure of
 * programs (call, while, tuple, slices of slices), for that is what they change.
 */
@NullMarked
package dev.drover.ir.pass;

import org.jspecify.annotations.NullMarked;
