@NullMarked
package dev.drover.plan.lower;

import org.jspecify.annotations.NullMarked;
