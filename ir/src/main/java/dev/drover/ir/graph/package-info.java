@NullMarked
package dev.drover.ir.graph;

import org.jspecify.annotations.NullMarked;
